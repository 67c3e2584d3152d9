//! A model's records, one after another, and the order of streams up to each.

use crate::check::order::Order;
use crate::model::{EventIx, Kind, Model};
use std::collections::HashMap;
use weir::id::{DeviceId, StreamId};
use weir::policy::StreamKind;
use weir::trace::Record;

/// What a stream is defined as.
type Definition = (DeviceId, StreamKind);

/// The order of a model's streams up to a record.
pub(super) struct Walk<'m> {
    model: &'m Model,
    pub(super) order: Order,
    definitions: HashMap<StreamId, Definition>,
}

impl<'m> Walk<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        let definitions = model.streams.iter().filter_map(|stream| Some((stream.id, stream.definition?))).collect();
        Self { model, order: Order::default(), definitions }
    }

    /// Takes the next record. Answers whether it may order one stream after another.
    pub(super) fn step(&mut self, event: EventIx) -> bool {
        let record = self.model.record(event).record;
        match record {
            // Another run: nothing of before counts.
            Record::Begin { .. } => self.order = Order::default(),
            Record::StreamCreated { stream }
            | Record::Malloc { stream, .. }
            | Record::Free { stream, .. }
            | Record::Use { stream, .. }
            | Record::Recorded { stream, .. }
            | Record::Waited { stream, .. } => self.meet(stream),
            _ => {}
        }
        self.order.follow(&record);
        !matches!(self.model.events.kind(event), Kind::Malloc | Kind::Free | Kind::Use | Kind::MarkerLaid)
    }

    /// The stream is there from now on.
    fn meet(&mut self, stream: StreamId) {
        if self.order.known(stream).is_none()
            && let Some((device, kind)) = self.definitions.get(&stream)
        {
            self.order.define(stream, *device, *kind);
        }
    }
}
