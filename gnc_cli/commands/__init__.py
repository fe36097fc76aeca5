"""One file per subcommand (parse, call, show), and what they share to show, judge and report."""
