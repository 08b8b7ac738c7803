import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A worker's open websocket, wherever it is held: how replicas know which workers there are. */
@Entity('worker_connections')
@Index('worker_connections_last_seen', ['lastSeenAt'])
export class WorkerConnectionEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'worker_connections_pkey' })
  id: string;

  /** What the worker calls itself; several connections may share it. */
  @Column('text', { name: 'worker_id' })
  workerId: string;

  /** Null: of the hosted pool. */
  @Column('uuid', { name: 'team_uid', nullable: true })
  teamUid: string | null;

  @Column({ type: 'timestamptz', name: 'connected_at', precision: 3, default: () => 'now()' })
  connectedAt: Date;

  @Column({ type: 'timestamptz', name: 'last_seen_at', precision: 3, default: () => 'now()' })
  lastSeenAt: Date;
}
