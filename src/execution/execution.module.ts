import { Module, type OnModuleInit } from '@nestjs/common';
import { ArtifactsModule } from '../artifacts/index.js';
import { CatalogModule } from '../catalog/index.js';
import { Metrics } from '../kernel/observability/metrics.js';
import { RunsModule } from '../runs/index.js';
import { ExecutionArtifactsController } from './api/execution-artifacts.controller.js';
import { ExecutionEventsController } from './api/execution-events.controller.js';
import { HarnessMessagesController } from './api/harness-messages.controller.js';
import { HarnessSupportController } from './api/harness-support.controller.js';
import { WorkersController } from './api/workers.controller.js';
import { WorkerSocketServer } from './api/worker-socket.server.js';
import { Dispatcher } from './application/dispatcher.js';
import { ExecutionSetting } from './application/execution-setting.js';
import { ExecutionLease } from './application/execution-lease.js';
import { GrantedSecrets } from './application/granted-secrets.js';
import { HandOverMessages } from './application/hand-over-messages.js';
import { KeepTranscript } from './application/keep-transcript.js';
import { ListWorkers } from './application/list-workers.js';
import { ReceiveWorkerMessage } from './application/receive-worker-message.js';
import { ReadExecution } from './application/read-execution.js';
import { ReportArtifacts } from './application/report-artifacts.js';
import { ReportUsage } from './application/report-usage.js';
import { ReportExecution } from './application/report-execution.js';
import { SweepExecutions } from './application/sweep-executions.js';
import { WorkerConnections } from './application/worker-connections.js';
import { WorkerSessions } from './application/worker-sessions.js';
import { WorkerConnectionRepository } from './persistence/worker-connection.repository.js';

@Module({
  imports: [RunsModule, CatalogModule, ArtifactsModule],
  controllers: [
    HarnessMessagesController,
    HarnessSupportController,
    ExecutionArtifactsController,
    ExecutionEventsController,
    WorkersController,
  ],
  providers: [
    WorkerConnections,
    WorkerConnectionRepository,
    WorkerSessions,
    ListWorkers,
    WorkerSocketServer,
    ReceiveWorkerMessage,
    Dispatcher,
    SweepExecutions,
    GrantedSecrets,
    ReadExecution,
    ExecutionSetting,
    ExecutionLease,
    HandOverMessages,
    KeepTranscript,
    ReportExecution,
    ReportArtifacts,
    ReportUsage,
  ],
})
export class ExecutionModule implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly connections: WorkerConnectionRepository,
  ) {}

  onModuleInit(): void {
    this.metrics.observeGauge({
      name: 'millwright_worker_connections',
      help: 'Open connections of workers over all replicas, by pool',
      labelNames: ['pool'],
      read: async () =>
        (await this.connections.countByPool()).map(({ pool, count }) => ({ labels: { pool }, value: count })),
    });
  }
}
