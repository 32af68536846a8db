"""snug config: the table and its JSON say the same, and fit the terminal."""

import json
import unittest

from tool_under_test import snug

FIELDS = ["key", "unit", "default", "value", "origin", "help"]


class ConfigTest(unittest.TestCase):
    def test_every_entry_is_complete(self):
        entries = json.loads(snug("config", "--json").stdout)
        # The library's first and last, so that none is lost at either end.
        self.assertLessEqual({"classes", "report"}, {entry["key"] for entry in entries})
        for entry in entries:
            self.assertEqual(list(entry), FIELDS)
            self.assertTrue(entry["key"] and entry["help"], entry)
            self.assertEqual((entry["origin"], entry["value"]), ("default", entry["default"]))

    def test_the_table_has_a_row_for_each_entry(self):
        lines = snug("config").stdout.splitlines()
        self.assertEqual(lines[0].split(), FIELDS)
        keys = [line.split()[0] for line in lines[1:] if not line.startswith(" ")]
        self.assertEqual(keys, [entry["key"] for entry in json.loads(snug("config", "--json").stdout)])

    def test_the_help_is_wrapped_to_the_terminal(self):
        narrow = snug("config", COLUMNS="90").stdout
        wide = snug("config", COLUMNS="300").stdout
        self.assertGreater(narrow.count("\n"), wide.count("\n"))
        self.assertLessEqual(max(map(len, narrow.splitlines())), 90)

    def test_the_environments_settings_are_in_force(self):
        # `report` is the one key that this tool itself depends on.
        entries = json.loads(snug("config", "--json", SNUG_CONF="report:/dev/null").stdout)
        report = next(entry for entry in entries if entry["key"] == "report")
        self.assertEqual((report["value"], report["origin"]), ("/dev/null", "SNUG_CONF"))


if __name__ == "__main__":
    unittest.main()
