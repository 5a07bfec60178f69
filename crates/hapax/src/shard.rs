//! One shard: its tables, and how it grows and gives memory back without moving anything.
//!
//! A shard owns a *base* table, which is never closed, and a published list of *grown* tables, at
//! most one open table per size. `hint` names the table that takes new ids. It is only a hint:
//! an id is looked for in **every table whose mark is alive**, so where the hint points decides
//! nothing but where the next id goes.
//!
//! * **Growing** publishes a table of twice the size and moves the hint. Old entries stay where
//!   they are, and after one retention nobody looks at the old table any more.
//! * **Shrinking** is the hint moving to a smaller table, in the end to the base.
//! * **Giving back** takes two steps: a table whose mark has passed is closed, by compare-exchange
//!   of its mark, and then a list without it is published. The last reader of the old list frees
//!   it. Whoever stops between the steps stops nobody: a closed table is dead to look-ups, whoever
//!   finds the hint at one moves the hint, and the next to tidy up publishes the list.
//!
//! Always true:
//!
//! * The list is replaced only by compare-exchange from the list that was read, so no table is
//!   lost, with its ids, to a list made from an older one.
//! * `newest` names a list at least as new as any that somebody has used: whoever loads a list raises
//!   `newest` to it before using it, and so before the hint can move to a table of it. Whoever
//!   reads the hint and then `newest` therefore finds every table that the hint has named so far,
//!   unless it is closed.
//! * Ids are committed only in the table that the hint names, and only if the hint has not moved
//!   since before they were looked for in the others: see [`insert`](crate::insert).

use std::sync::Arc;

use crate::{
    bucket::{Buckets, SLOTS},
    hash::Probe,
    hint::{Hint, LAST_SERIAL},
    list::{List, ListName, Tables},
    mark::{Epochs, MOST_DISTANCE},
    sync::{self, AtomicU64, Ordering, Published, Step},
    table::Table,
    timeline::deadline_ms,
    wheel::Wheel,
};

/// What all shards of a set have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Buckets of the base table.
    pub(crate) base_buckets: usize,
    /// Buckets of the largest table a shard may have.
    pub(crate) top_buckets: usize,
    /// The set's retention, resolution included: the longest a fresh deadline can lie ahead.
    pub(crate) span_ms: u64,
    /// The default lease, resolution included.
    pub(crate) lease_span_ms: u64,
    /// How spill marks cut time.
    pub(crate) epochs: Epochs,
    /// Whether the entry that ends first makes room at the limit.
    pub(crate) forget_oldest: bool,
}

/// Buckets past home that an entry may lie in a large table. With three slots a bucket this fills
/// a table to about two thirds before it grows.
const REACH: usize = MOST_DISTANCE;

impl Plan {
    fn top_class(&self) -> u32 {
        (0..usize::BITS)
            .find(|&class| self.buckets(class) == self.top_buckets)
            .unwrap_or(0)
    }

    fn buckets(&self, class: u32) -> usize {
        let doubled = self
            .base_buckets
            .checked_shl(class)
            .filter(|b| b >> class == self.base_buckets);
        doubled.map_or(self.top_buckets, |buckets| buckets.min(self.top_buckets))
    }

    /// Small tables keep runs short and grow instead; the largest has nowhere to grow to.
    fn reach(&self, class: u32) -> usize {
        let buckets = self.buckets(class);
        if buckets == self.top_buckets {
            REACH
        } else {
            REACH.min(buckets / 6)
        }
    }

    fn table(&self, serial: u64, class: u32, until_ms: u64) -> Option<Table> {
        Table::new(
            serial,
            class,
            self.buckets(class),
            self.reach(class),
            self.epochs,
            until_ms,
        )
    }

    /// Bytes of one shard's base table.
    pub(crate) fn base_bytes(&self) -> usize {
        Buckets::bytes_of(self.base_buckets)
    }

    /// Bytes of one shard with a table of every size.
    pub(crate) fn most_bytes(&self) -> usize {
        (0..=self.top_class())
            .map(|class| Buckets::bytes_of(self.buckets(class)))
            .fold(Wheel::bytes(), usize::saturating_add)
    }
}

#[derive(Debug)]
pub(crate) struct Shard {
    plan: Plan,
    base: Table,
    grown: Published<List>,
    /// The newest list that anybody has used.
    newest: AtomicU64,
    /// The table that takes new ids: a [`Hint`].
    hint: AtomicU64,
    /// When somebody should tidy up next.
    pub(crate) tidy_at_ms: AtomicU64,
    pub(crate) wheel: Wheel,
}

/// What became of a shard that had no room for an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grown {
    /// The hint has moved, by us or somebody else: start again.
    Moved,
    /// There is no larger table to be had.
    AtLimit,
}

impl Shard {
    /// Makes an empty shard; `None` where there is no memory for its base table.
    pub(crate) fn new(plan: Plan) -> Option<Self> {
        Some(Self {
            base: plan.table(0, 0, 0)?,
            grown: Published::nothing(),
            newest: AtomicU64::new(ListName::NONE.bits()),
            hint: AtomicU64::new(Hint::BASE.bits()),
            tidy_at_ms: AtomicU64::new(0),
            wheel: Wheel::for_spans(plan.span_ms, plan.lease_span_ms),
            plan,
        })
    }

    pub(crate) const fn plan(&self) -> &Plan {
        &self.plan
    }

    #[cfg(test)]
    pub(crate) const fn base(&self) -> &Table {
        &self.base
    }

    /// Touches an id's home in the table where it would go; see [`Table::touch`].
    #[inline]
    pub(crate) fn touch(&self, probe: Probe) -> u64 {
        let serial = self.hint().serial();
        if serial == self.base.serial() {
            return self.base.touch(probe);
        }
        self.tables()
            .by_serial(serial)
            .map_or(0, |table| table.touch(probe))
    }

    // ---- reading the list -------------------------------------------------------------------

    /// Loads the tables. Read the clock before, the marks after.
    #[inline]
    pub(crate) fn tables(&self) -> Tables<'_> {
        // Acquire: pairs with the Release in `use_list`: the list it names, or a newer one, is
        // what the load below finds.
        let name = ListName::from_bits(self.newest.load(Ordering::Acquire));
        if name.is_empty() {
            return Tables {
                base: &self.base,
                loaded: None,
                name,
            };
        }
        self.load_list()
    }

    #[inline(never)]
    fn load_list(&self) -> Tables<'_> {
        let loaded = self.grown.load();
        let name = ListName::of(&loaded);
        self.use_list(name);
        Tables {
            base: &self.base,
            loaded: Some(loaded),
            name,
        }
    }

    /// Notes that a list is about to be used. Takes effect before the hint can move to one of its
    /// tables, so whoever reads the hint there, or a later one, finds this list or a later one.
    #[inline]
    pub(crate) fn use_list(&self, name: ListName) {
        // Relaxed: if it is newer already, its raiser has done what we would do.
        if self.newest.load(Ordering::Relaxed) < name.bits() {
            // Release: pairs with the Acquire in `tables`, which must find this list.
            self.newest.fetch_max(name.bits(), Ordering::Release);
        }
    }

    /// The table that takes new ids. Read it before the list.
    #[inline]
    pub(crate) fn hint(&self) -> Hint {
        // Acquire: pairs with the Release of every `move_hint` so far: `tables`, called next, then
        // finds each table that the hint has ever named, unless it is closed already.
        Hint::from_bits(self.hint.load(Ordering::Acquire))
    }

    /// Whether the hint has not moved since `hint` was read. Call after the fence.
    #[inline]
    pub(crate) fn is_still(&self, hint: Hint) -> bool {
        // Relaxed: ordered by the caller's fence against the one in `scan_all` of whoever has read
        // a later hint: either we see that it has moved, or he sees our entry.
        self.hint.load(Ordering::Relaxed) == hint.bits()
    }

    /// The table that `hint` names; `None` if that was closed, and then the hint has moved.
    #[inline]
    pub(crate) fn current<'t>(&self, tables: &'t Tables<'_>, hint: Hint) -> Option<&'t Table> {
        if hint.serial() == tables.base.serial() {
            return Some(tables.base);
        }
        match tables.by_serial(hint.serial()) {
            Some(table) if !table.is_closed() => Some(table),
            _ => {
                self.leave_closed(tables, hint);
                None
            }
        }
    }

    /// Moves the hint on to the largest table that is open.
    #[cold]
    fn leave_closed(&self, tables: &Tables<'_>, hint: Hint) {
        let next = tables.open().max_by_key(|table| table.class());
        self.move_hint(
            hint,
            next.map_or(tables.base.serial(), |table| table.serial()),
        );
    }

    fn move_hint(&self, from: Hint, to: u64) -> bool {
        let to = from.moved_to(to);
        // Release: pairs with the Acquire in `hint`; a read-modify-write, so that whoever acquires
        // a later move acquires this one too. Relaxed on failure: somebody else has moved it, and
        // that is as good.
        self.hint
            .compare_exchange(from.bits(), to.bits(), Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    // ---- growing ----------------------------------------------------------------------------

    /// Makes room when `current` has none within reach. Never waits: whoever loses a race here
    /// starts again with what the winner has published.
    #[cold]
    pub(crate) fn grow(
        &self,
        tables: &Tables<'_>,
        hint: Hint,
        current: &Table,
        now_ms: u64,
    ) -> Grown {
        if current.class() >= self.plan.top_class() {
            return Grown::AtLimit;
        }
        self.point_at_class(tables, hint, current.class() + 1, now_ms)
    }

    /// Moves the hint to an open table of `class`, publishing a fresh one if none is listed.
    pub(crate) fn point_at_class(
        &self,
        tables: &Tables<'_>,
        from: Hint,
        class: u32,
        now_ms: u64,
    ) -> Grown {
        if class == self.base.class() {
            self.move_hint(from, self.base.serial());
            return Grown::Moved;
        }
        if let Some(table) = tables.open_of_class(class) {
            self.move_hint(from, table.serial());
            return Grown::Moved;
        }
        let serial = tables.name.serial() + 1;
        if serial > LAST_SERIAL {
            return Grown::AtLimit;
        }
        // Marked for one retention, so that a newborn is not taken for a drained one.
        let until_ms = deadline_ms(now_ms, self.plan.span_ms);
        let Some(table) = self.plan.table(serial, class, until_ms) else {
            return Grown::AtLimit;
        };
        if self.publish(tables, Some(Arc::new(table))) {
            self.move_hint(from, serial);
        }
        Grown::Moved
    }

    /// Publishes the list in `tables` without what is closed and with `fresh`. Takes effect at the
    /// compare-exchange; fails if the list has been replaced since it was read.
    fn publish(&self, tables: &Tables<'_>, fresh: Option<Arc<Table>>) -> bool {
        let unloaded;
        let seen = match &tables.loaded {
            Some(loaded) => loaded,
            None => {
                unloaded = self.grown.load();
                &unloaded
            }
        };
        if ListName::of(seen) != tables.name {
            // Newer than what the caller looked at. Its publisher may have stopped before saying
            // so; nobody has to wait for him.
            self.use_list(ListName::of(seen));
            return false;
        }
        let list = List {
            serial: tables.name.serial() + 1,
            tables: tables.open().cloned().chain(fresh).collect(),
        };
        let name = ListName::new(list.serial, list.tables.is_empty());
        let won = self.grown.replace(seen, list);
        sync::step(Step::Grown);
        if won {
            self.use_list(name);
        }
        won
    }

    /// Publishes a list, empty or of one fresh table, and sleeps before naming it.
    #[cfg(all(test, hapax_loom))]
    pub(crate) fn publish_unnamed(&self, class: Option<u32>, until_ms: u64) -> ListName {
        let seen = self.grown.load();
        let serial = ListName::of(&seen).serial() + 1;
        let fresh = class.and_then(|class| self.plan.table(serial, class, until_ms));
        let tables = fresh.into_iter().map(Arc::new).collect();
        assert!(self.grown.replace(&seen, List { serial, tables }), "alone");
        ListName::new(serial, class.is_none())
    }

    // ---- giving back ------------------------------------------------------------------------

    /// Lets one caller per tick of the wheel tidy up. Bounded work, off the path of look-ups.
    #[inline]
    pub(crate) fn tidy_if_due(&self, now_ms: u64) {
        // Relaxed: a hint; the compare-exchange picks one caller.
        let due_ms = self.tidy_at_ms.load(Ordering::Relaxed);
        if now_ms >= due_ms {
            self.tidy_as_one(due_ms, now_ms);
        }
    }

    #[cold]
    fn tidy_as_one(&self, due_ms: u64, now_ms: u64) {
        let next_ms = deadline_ms(now_ms, self.wheel.tick_ms());
        // Relaxed: it hands out a turn, no memory.
        let mine =
            self.tidy_at_ms
                .compare_exchange(due_ms, next_ms, Ordering::Relaxed, Ordering::Relaxed);
        if mine.is_ok() && self.tidy(now_ms) {
            // Relaxed: as above. More to do: the next caller goes on at once.
            self.tidy_at_ms.store(now_ms, Ordering::Relaxed);
        }
    }

    /// Moves the hint to a smaller table if the load has fallen, and gives back at most one
    /// drained table. Returns whether there may be more to give back.
    pub(crate) fn tidy(&self, now_ms: u64) -> bool {
        let hint = self.hint();
        let tables = self.tables();
        if tables.grown().is_empty() {
            return false;
        }
        let Some(current) = self.current(&tables, hint) else {
            return true;
        };
        let fitting = self.fitting_class(now_ms);
        if fitting < current.class() {
            return self.point_at_class(&tables, hint, fitting, now_ms) == Grown::Moved;
        }
        let keep = current.serial();
        let mut spent = tables
            .grown()
            .iter()
            .filter(|table| table.serial() != keep)
            .filter(|table| table.is_closed() || !table.is_alive_at(now_ms));
        let Some(table) = spent.next() else {
            return false;
        };
        let closed = table.is_closed() || table.close(now_ms);
        sync::step(Step::Closed);
        closed && self.publish(&tables, None) && spent.next().is_some()
    }

    /// The smallest class in which what lives now would fill a third. Growth comes at two thirds,
    /// so the two do not chase each other.
    fn fitting_class(&self, now_ms: u64) -> u32 {
        let books = self.wheel.at(now_ms);
        let slots = 3 * (books.done + books.in_flight);
        let fits = |&class: &u32| (self.plan.buckets(class) * SLOTS) as u64 >= slots;
        (0..=self.plan.top_class()).find(fits).unwrap_or(u32::MAX)
    }

    // ---- counting ---------------------------------------------------------------------------

    /// How many tables there are, and their bytes with the wheel's.
    pub(crate) fn size(&self) -> (usize, usize) {
        let tables = self.tables();
        tables
            .iter()
            .fold((0, Wheel::bytes()), |(count, bytes), table| {
                (count + 1, bytes + table.bytes())
            })
    }
}
