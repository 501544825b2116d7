//! A map that only grows and is cheap to copy: a mandate's stream is folded for every append, and most of what it ever
//! did is of interest only when somebody asks for it by name.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Sorted runs, newest last, each more than half as long again as all after it. A copy shares them all.
#[derive(Debug, Clone)]
pub(crate) struct Shelf<K, V> {
    runs: Vec<Arc<BTreeMap<K, V>>>,
}

impl<K, V> Default for Shelf<K, V> {
    fn default() -> Self {
        Self { runs: Vec::new() }
    }
}

impl<K: Ord + Clone, V: Clone> Shelf<K, V> {
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.runs.iter().rev().find_map(|run| run.get(key))
    }

    /// Sets a value; what the key had before is gone.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        let mut newest = BTreeMap::from([(key, value)]);
        while let Some(last) = self.runs.pop_if(|last| last.len() <= newest.len().saturating_mul(2)) {
            let mut merged = Arc::unwrap_or_clone(last);
            merged.append(&mut newest);
            newest = merged;
        }
        self.runs.push(Arc::new(newest));
    }

    /// Every value once, in the order of keys.
    pub(crate) fn values(&self) -> Vec<&V> {
        let mut all = BTreeMap::new();
        for run in &self.runs {
            all.extend(run.iter());
        }
        all.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_map() {
        let mut shelf = Shelf::default();
        let mut twin = BTreeMap::new();
        for n in 0..2_000_u64 {
            let key = n.wrapping_mul(2_654_435_761) % 500;
            let before = shelf.clone();
            shelf.insert(key, n);
            assert_eq!(before.get(&key), twin.get(&key));
            twin.insert(key, n);
        }
        assert!((0..501).all(|key| shelf.get(&key) == twin.get(&key)));
        assert!(shelf.values().into_iter().eq(twin.values()));
        assert!(shelf.runs.len() < 12, "{}", shelf.runs.len());
    }
}
