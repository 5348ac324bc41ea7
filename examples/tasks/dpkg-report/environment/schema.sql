CREATE TABLE package (
  name TEXT PRIMARY KEY,
  version TEXT NOT NULL,
  section TEXT,
  installed_kib INTEGER,
  summary TEXT
);
-- One row per alternative: `a | b, c` is (1, 1, a), (1, 2, b), (2, 1, c).
CREATE TABLE dependency (
  package TEXT NOT NULL REFERENCES package,
  kind TEXT NOT NULL CHECK (kind IN ('Depends', 'Pre-Depends')),
  position INTEGER NOT NULL,
  alternative INTEGER NOT NULL,
  target TEXT NOT NULL,
  relation TEXT CHECK (relation IN ('<<', '<=', '=', '>=', '>>')),
  version TEXT,
  PRIMARY KEY (package, kind, position, alternative)
);
CREATE TABLE provision (
  package TEXT NOT NULL REFERENCES package,
  name TEXT NOT NULL,
  version TEXT,
  PRIMARY KEY (package, name)
);
