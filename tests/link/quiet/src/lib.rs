//! Declares nothing.
