//! Reports: rows and notes as data, and their renderers.
