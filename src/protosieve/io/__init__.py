"""Files to rows and back: every format behind one interface."""
