"""What finds codes: closed forms, searches, polish, certificates."""
