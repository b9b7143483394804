import { type LeaseKind, PROJECTOR_LEASE, REBUILD_LEASE } from '../runtime/lease-holder';

/** A log that read models are projected from: what the read store keeps for it, under these names. */
export interface Source {
  /** The collection that records which log it is. */
  readonly origin: string;
  /** The process that holds it updates the live read models of this log. */
  readonly projectorLease: LeaseKind;
  /** The process that holds it builds generations of them. */
  readonly rebuildLease: LeaseKind;
  /** Its events expire, so the first one does not identify it. */
  readonly isExpiring: boolean;
  /** Where the log is kept, if read models of another log are replaced automatically, since people alone read them. */
  readonly replacesOther?: string;
}

export const DOMAIN_LOG: Source = {
  origin: 'origin',
  projectorLease: PROJECTOR_LEASE,
  rebuildLease: REBUILD_LEASE,
  isExpiring: false,
};

export const DELIVERY_LOG: Source = {
  origin: 'origin-deliveries',
  projectorLease: { ...PROJECTOR_LEASE, name: 'projector-deliveries' },
  rebuildLease: { ...REBUILD_LEASE, name: 'rebuild-deliveries' },
  isExpiring: true,
  replacesOther: 'deliveries.sqlite, or the streams deliveries.* of EventStoreDB',
};
