"""``python3 -m word_tally``."""

import sys

from word_tally.cli import main

sys.exit(main())
