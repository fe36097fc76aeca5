"""`gnc solve`: finds Softmax Codes, Tammes codes and UFM optima."""
