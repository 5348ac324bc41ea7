"""Two years of backups, one or two a day, with some days missing; and a few files that are none."""

import datetime
import os
import sys

os.makedirs(sys.argv[1])
os.chdir(sys.argv[1])
for number in range(730):
    day = datetime.date(2022, 6, 1) + datetime.timedelta(days=number)
    if number % 11 != 3:
        with open(f"db-{day:%Y%m%d}T0215.dump", "w") as file:
            file.write(f"{day} night\n")
    if number % 5 == 0:
        with open(f"db-{day:%Y%m%d}T1200.dump", "w") as file:
            file.write(f"{day} noon, by hand\n")
with open("db-20240530T1200.dump.part", "w") as file:
    file.write("half of a backup\n")
with open("README", "w") as file:
    file.write("Backups of the shop. Ask Ines before you change anything.\n")
