import { Module } from '@nestjs/common';
import { RunsModule } from '../runs/index.js';
import { RunScoresController } from './api/run-scores.controller.js';
import { ScorersController } from './api/scorers.controller.js';
import { CaptureEvaluations } from './application/capture-evaluations.js';
import { CheckScorer } from './application/check-scorer.js';
import { CreateScorer } from './application/create-scorer.js';
import { DeleteScorer } from './application/delete-scorer.js';
import { DispatchEvaluation } from './application/dispatch-evaluation.js';
import { FactoryScorers } from './application/factory-scorers.js';
import { GradedRunFiles } from './application/graded-run-files.js';
import { Judges } from './application/judges.js';
import { ListResults } from './application/list-results.js';
import { PrepareJudgeRun } from './application/prepare-judge-run.js';
import { ReadRunScores } from './application/read-run-scores.js';
import { ReadScorers } from './application/read-scorers.js';
import { ReplaceScorer } from './application/replace-scorer.js';
import { ReportScores } from './application/report-scores.js';
import { RequestEvaluation } from './application/request-evaluation.js';
import { SweepEvaluations } from './application/sweep-evaluations.js';
import { EvaluationRepository } from './persistence/evaluation.repository.js';
import { ScoreReadModel } from './persistence/score.read-model.js';
import { ScorerRepository } from './persistence/scorer.repository.js';

@Module({
  imports: [RunsModule],
  controllers: [ScorersController, RunScoresController],
  providers: [
    CheckScorer,
    CreateScorer,
    ReadScorers,
    ReplaceScorer,
    DeleteScorer,
    FactoryScorers,
    Judges,
    CaptureEvaluations,
    GradedRunFiles,
    PrepareJudgeRun,
    DispatchEvaluation,
    SweepEvaluations,
    RequestEvaluation,
    ReportScores,
    ReadRunScores,
    ListResults,
    ScorerRepository,
    EvaluationRepository,
    ScoreReadModel,
  ],
  exports: [FactoryScorers],
})
export class ScoresModule {}
