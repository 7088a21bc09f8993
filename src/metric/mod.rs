//! Metrics: numbers with unit, population and what they leave out, from verdicts and measurements.
