//! The files that a guest sees: a map from guest path to stat and content, filled lazily by the backend.
/// The files that a guest sees.
#[derive(Clone, Debug, Default)]
pub struct World;
