import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { ConnectedWorker } from '../domain/connected-worker.js';
import { WorkerConnectionRepository } from '../persistence/worker-connection.repository.js';

/** Lists the self-hosted workers of the caller's team that are connected, to whichever replica. */
@Injectable()
export class ListWorkers {
  constructor(private readonly connections: WorkerConnectionRepository) {}

  /** Those of the hosted pool are nobody's own: they are not among them. */
  async execute({ team }: AccountCaller): Promise<ConnectedWorker[]> {
    return team === undefined ? [] : this.connections.ofTeam(team.uid);
  }
}
