//! Tokens by message and by category, kept up to date by every append and change.
//!
//! Totals are fields, so reading one costs nothing. Prefix sums come from a binary indexed tree over the messages: O(log n) to
//! append, change and ask. Invariant: the ledger after any edits equals the ledger of a fresh count.

use crate::item::Category;

/// Tokens of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    categories: [u64; Category::ALL.len()],
    request: [u64; Category::ALL.len()],
    items: Vec<u64>,
    tree: Vec<u64>,
    total: u64,
}

impl Ledger {
    /// Tokens of the whole request.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
    /// Tokens of a category.
    #[must_use]
    pub fn category(&self, category: Category) -> u64 {
        self.categories[category as usize]
    }
    /// Tokens of each message.
    #[must_use]
    pub fn items(&self) -> &[u64] {
        &self.items
    }
    /// Tokens that stand beside the messages: system, tools, the request's own overhead.
    #[must_use]
    pub fn request(&self) -> u64 {
        self.request.iter().sum()
    }
    /// Adds something that stands beside the messages.
    pub fn add_request(&mut self, category: Category, tokens: u64) {
        self.request[category as usize] += tokens;
        self.categories[category as usize] += tokens;
        self.total += tokens;
    }
    /// A ledger with the same request and no messages.
    #[must_use]
    pub fn request_only(&self) -> Self {
        Self { categories: self.request, request: self.request, total: self.request(), ..Self::default() }
    }
    /// Makes room for that many messages.
    pub fn reserve(&mut self, messages: usize) {
        self.items.reserve(messages);
        self.tree.reserve(messages);
    }
    /// Adds a message.
    pub fn append(&mut self, entry: impl Iterator<Item = (Category, u64)>) {
        let mut tokens = 0;
        for (category, cost) in entry {
            self.categories[category as usize] += cost;
            tokens += cost;
        }
        self.total += tokens;
        self.items.push(tokens);
        // Node n of the tree covers the lowest-set-bit(n) messages that end at n (counted from 1).
        let n = self.items.len();
        let mut sum = tokens;
        let mut below = n - 1;
        while below > n - (n & n.wrapping_neg()) {
            sum += self.tree[below - 1];
            below -= below & below.wrapping_neg();
        }
        self.tree.push(sum);
    }
    /// Changes what one thing in a message costs.
    pub fn change(&mut self, item: usize, category: Category, before: u64, after: u64) {
        let shift = |value: u64| (value + after) - before;
        self.categories[category as usize] = shift(self.categories[category as usize]);
        self.total = shift(self.total);
        self.items[item] = shift(self.items[item]);
        let mut n = item + 1;
        while n <= self.tree.len() {
            self.tree[n - 1] = shift(self.tree[n - 1]);
            n += n & n.wrapping_neg();
        }
    }
    /// Tokens of the first `n` messages.
    #[must_use]
    pub fn prefix(&self, n: usize) -> u64 {
        let mut n = n.min(self.tree.len());
        let mut sum = 0;
        while n > 0 {
            sum += self.tree[n - 1];
            n -= n & n.wrapping_neg();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_sums_follow_appends_and_changes() {
        let mut ledger = Ledger::default();
        ledger.add_request(Category::Overhead, 3);
        for n in 1..=100u64 {
            ledger.append([(Category::User, n), (Category::Overhead, 4)].into_iter());
        }
        ledger.change(49, Category::User, 50, 1050);
        let plain: Vec<u64> = (1..=100).map(|n| n + 4 + if n == 50 { 1000 } else { 0 }).collect();
        for n in 0..=100 {
            assert_eq!(ledger.prefix(n), plain[..n].iter().sum::<u64>(), "{n}");
        }
        assert_eq!(ledger.total(), 3 + plain.iter().sum::<u64>());
        assert_eq!(ledger.category(Category::User), 5050 + 1000);
        assert_eq!(ledger.request(), 3);
    }
}
