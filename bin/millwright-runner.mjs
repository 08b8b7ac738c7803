#!/usr/bin/env node
// `millwright-runner`: executes one run of a worker, or reports for one (`harness-support …`). See docs/harnesses.md.
import '../dist/execution/runner/main.js';
