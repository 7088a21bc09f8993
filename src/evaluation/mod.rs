//! The evaluation: from samples to rows, in parallel, with a fixed result order.
