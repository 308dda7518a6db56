//! Sets and maps that each job passes through. Their keys are random, or names of our own, so a quick hash with a seed of this process will
//! do: the one of the standard library took a twentieth of the instructions of a drain.

use foldhash::fast::RandomState;

pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;
pub(crate) type HashSet<T> = std::collections::HashSet<T, RandomState>;
