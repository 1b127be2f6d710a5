"""`python -m antler.report`: the report as a command."""

import sys

from . import main

sys.exit(main())
