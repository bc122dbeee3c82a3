"""The program around the library: command line, files, reports, the paper's studies."""
