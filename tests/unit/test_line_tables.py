# SPDX-License-Identifier: Apache-2.0
"""What readelf says of the line table of a program."""

from unsnarl.probes.binaries.columns import Columns

# As binutils 2.40 prints it; the code before the first `Set File Name` is of entry 1.
TABLE = """\
 The Directory Table (offset 0x22, lines 2, columns 1):
  Entry	Name
  0	(indirect line string, offset: 0x6a): /src/pool
  1	(indirect line string, offset: 0x7e): /usr/include/c++/12/bits

 The File Name Table (offset 0x4c, lines 3, columns 2):
  Entry	Dir	Name
  0	0	(indirect line string, offset: 0x75): pool.cpp
  1	1	(indirect line string, offset: 0x171): gthr-default.h
  2	0	(indirect line string, offset: 0x75): pool.cpp

 Line Number Statements:
  [0x0000015f]  Set column to 3
  [0x00000161]  Extended opcode 2: set Address to 0x1000
  [0x0000016c]  Advance Line by 748 to 749
  [0x0000016e]  Copy
  [0x00000176]  Set File Name to entry 2 in the File Name Table
  [0x00000178]  Set column to 7
  [0x0000017a]  Advance Line by -740 to 9
  [0x0000017c]  Special opcode 75: advance Address by 16 to 0x1010 and Line by 0 to 9
  [0x0000017e]  Advance PC by 16 to 0x1020
  [0x00000180]  Extended opcode 1: End of Sequence
""".splitlines()


def test_an_address_has_the_column_and_the_file_of_its_row():
    columns = Columns(TABLE)
    assert (columns.of(0x1004, 749), columns.of(0x1014, 9)) == (3, 7)
    assert columns.file(0x1004, 749) == "/usr/include/c++/12/bits/gthr-default.h"
    assert columns.file(0x1014, 9) == "/src/pool/pool.cpp"


def test_of_another_line_nothing_is_said():
    columns = Columns(TABLE)
    assert (columns.of(0x1004, 9), columns.file(0x1004, 9)) == (0, "")
    assert columns.file(0x1030, 9) == ""
    assert Columns([]).file(0x1004, 9) == ""
