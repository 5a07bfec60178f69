//! The published list of a shard's grown tables, and how a caller sees the tables.

use std::sync::Arc;

use crate::{sync::Loaded, table::Table};

/// The grown tables, as published.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) serial: u64,
    pub(crate) tables: Vec<Arc<Table>>,
}

/// The name of a list, and whether there is anything in it. Larger is newer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ListName(u64);

impl ListName {
    /// Before the first list.
    pub(crate) const NONE: Self = Self(0);

    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    pub(crate) const fn new(serial: u64, is_empty: bool) -> Self {
        Self(serial << 1 | !is_empty as u64)
    }
    pub(crate) const fn serial(self) -> u64 {
        self.0 >> 1
    }
    pub(crate) const fn is_empty(self) -> bool {
        self.0 & 1 == 0
    }
    pub(crate) fn of(list: &Loaded<List>) -> Self {
        list.as_ref().map_or(Self::NONE, |list| {
            Self::new(list.serial, list.tables.is_empty())
        })
    }
}

/// The tables of a shard as one caller sees them, kept alive while he looks.
#[derive(Debug)]
pub(crate) struct Tables<'s> {
    pub(crate) base: &'s Table,
    /// The list, where there is anything in it.
    pub(crate) loaded: Option<Loaded<List>>,
    pub(crate) name: ListName,
}

impl Tables<'_> {
    #[inline]
    pub(crate) fn grown(&self) -> &[Arc<Table>] {
        match &self.loaded {
            Some(loaded) => loaded.as_ref().map_or(&[], |list| &list.tables),
            None => &[],
        }
    }

    /// All tables, the base first.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Table> {
        core::iter::once(self.base).chain(self.grown().iter().map(|table| &**table))
    }

    /// All tables, the base last.
    #[inline]
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &Table> {
        let grown = self.grown().iter().rev().map(|table| &**table);
        grown.chain(core::iter::once(self.base))
    }

    #[inline]
    pub(crate) fn by_serial(&self, serial: u64) -> Option<&Table> {
        if serial == self.base.serial() {
            return Some(self.base);
        }
        self.grown()
            .iter()
            .find(|table| table.serial() == serial)
            .map(|table| &**table)
    }

    pub(crate) fn open(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.grown().iter().filter(|table| !table.is_closed())
    }

    pub(crate) fn open_of_class(&self, class: u32) -> Option<&Table> {
        self.open()
            .find(|table| table.class() == class)
            .map(|table| &**table)
    }
}
