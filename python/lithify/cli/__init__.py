"""The command `lithify`: `main` starts it, `app` lists the commands, each command has a file of its own."""
