export { FactoryScorers } from './application/factory-scorers.js';
export type { Scorer, ScorerSettings } from './domain/scorer.js';
export { ScoresModule } from './scores.module.js';
