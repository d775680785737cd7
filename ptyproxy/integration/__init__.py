"""One module per shell and its script: how to start it so that it marks its commands. Pure but for the scripts."""
