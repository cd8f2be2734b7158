//! Text bound for a model: cleaned, cut, composed.
