/**
 * Who may import whom. Every rule's comment is written for the person who has just broken it.
 * A new context gets a line in EDGES. @type {import('dependency-cruiser').IConfiguration}
 */

/** Context → the contexts it may import, besides OPEN_TO_ALL. There is no other way from one context to another. */
const EDGES = {
  identities: [],
  catalog: [],
  artifacts: [],
  runs: ['catalog', 'artifacts'],
  scores: ['runs', 'artifacts'],
  schedules: ['runs', 'catalog'],
  webhooks: ['catalog'],
  automations: ['webhooks', 'schedules', 'runs', 'catalog', 'scores'],
  execution: ['runs', 'catalog', 'artifacts'],
};
const OPEN_TO_ALL = ['kernel', 'config', 'identities'];

const WHY = {
  identities: 'every other context depends on identities, so it depends on kernel and config alone.',
  artifacts:
    'what artifacts needs to know of a run it asks through a port of its own, which runs implements.',
  runs: 'runs knows none of its callers: give the callers a port or an event in src/runs/index.ts instead.',
};

const CONTEXTS = Object.keys(EDGES);
const anyOf = (names) => `(${names.join('|')})`;

const SPECS = '\\.spec\\.ts$';
const ENTITIES = `^src/${anyOf(CONTEXTS)}/persistence/[^/]+\\.entit(y|ies)\\.ts$`;
const FRAMEWORKS = '(^|/)node_modules/(@nestjs/|typeorm/|pg/|@types/pg/)';

const edges = CONTEXTS.map((context) => {
  const allowed = [...new Set([...OPEN_TO_ALL, context, ...EDGES[context]])];
  const others = allowed.filter((name) => name !== context);
  const why =
    WHY[context] ?? 'turn the dependency round with a port that this context owns and the other implements.';
  return {
    name: `edges-of-${context}`,
    severity: 'error',
    comment: `src/${context} may import ${others.join(', ')} and nothing else of src: ${why}`,
    from: { path: `^src/${context}/` },
    to: { path: '^src/', pathNot: `^src/${anyOf(allowed)}/` },
  };
});

module.exports = {
  forbidden: [
    ...edges,
    {
      name: 'edges-of-kernel',
      severity: 'error',
      comment:
        'The kernel is what every context needs and that knows no context: it may import src/config and itself. ' +
        'Move what knows a context into that context, or take what you need as a parameter.',
      from: { path: '^src/kernel/' },
      to: { path: '^src/', pathNot: '^src/(kernel|config)/' },
    },
    {
      name: 'edges-of-config',
      severity: 'error',
      comment:
        'The configuration is read before anything else exists, so src/config imports nothing else of src. ' +
        'Parse to plain values there and let the context give them a meaning.',
      from: { path: '^src/config/' },
      to: { path: '^src/', pathNot: '^src/config/' },
    },
    {
      name: 'edges-of-database',
      severity: 'error',
      comment:
        'src/database connects and migrates: of the contexts it may import persistence/*.entity.ts, to list the entities, and nothing else. ' +
        'Queries belong to the persistence folder of the context whose tables they read.',
      from: { path: '^src/database/' },
      to: { path: '^src/', pathNot: ['^src/(database|kernel|config)/', ENTITIES] },
    },
    {
      name: 'cli-stands-alone',
      severity: 'error',
      comment:
        'The command line client is a program of its own that reaches the service by HTTP: of src it may import src/config, the rules of definition files in src/automations/domain and itself, and neither Nest nor TypeORM nor a driver.',
      from: { path: '^src/cli/' },
      to: { path: ['^src/', FRAMEWORKS], pathNot: '^src/(cli|config|automations/domain)/' },
    },
    {
      name: 'context-has-edges',
      severity: 'error',
      comment:
        'This folder of src is not a context that .dependency-cruiser.cjs knows, so nothing checks its imports. Give it a line in EDGES there.',
      from: {
        path: '^src/[^/]+/',
        pathNot: `^src/${anyOf([...CONTEXTS, 'kernel', 'config', 'database', 'cli'])}/`,
      },
      to: {},
    },
    {
      name: 'through-the-index',
      severity: 'error',
      comment:
        'Another context has one door, its index.ts: import from there. What is missing there, its owner has to export on purpose. (src/kernel and src/config have no door, so that a rule can use the clock without loading Nest.)',
      from: { path: '^src/([^/]+)', pathNot: '^src/(database|cli)/' },
      to: { path: `^src/${anyOf(CONTEXTS)}/`, pathNot: ['^src/$1/', '^src/[^/]+/index\\.ts$'] },
    },

    {
      name: 'domain-is-plain',
      severity: 'error',
      comment:
        'domain/ holds rules over plain values: no Nest, no TypeORM, no driver. Pass the values in; wiring and SQL go to application/ and persistence/.',
      from: { path: '^src/[^/]+/domain/' },
      to: { path: FRAMEWORKS },
    },
    {
      name: 'domain-is-innermost',
      severity: 'error',
      comment:
        'domain/ is what the other folders build on: it may not import api/, application/ or persistence/. Move the type or the rule into domain/.',
      from: { path: '^src/[^/]+/domain/' },
      to: { path: '^src/[^/]+/(api|application|persistence)/' },
    },
    {
      name: 'api-not-to-persistence',
      severity: 'error',
      comment:
        'A controller calls a use case of application/ and maps its result: it may not touch tables or entities, not even by type. Export a plain type from application/ or domain/.',
      from: { path: '^src/[^/]+/api/' },
      to: { path: '^src/(?!kernel/)[^/]+/persistence/' },
    },

    {
      name: 'runner-stands-alone',
      severity: 'error',
      comment:
        'The runner is a program of its own, spawned beside the agent on any machine: of src it may import src/execution/protocol and itself, and neither Nest nor TypeORM nor a driver. It reaches the service by HTTP.',
      from: { path: '^src/execution/runner/' },
      to: { path: ['^src/', FRAMEWORKS], pathNot: '^src/execution/(runner|protocol)/' },
    },
    {
      name: 'protocol-is-shared',
      severity: 'error',
      comment:
        'The wire types of src/execution/protocol are loaded by the runner too: they may import nothing else of src, and neither Nest nor TypeORM nor a driver.',
      from: { path: '^src/execution/protocol/' },
      to: { path: ['^src/', FRAMEWORKS], pathNot: '^src/execution/protocol/' },
    },

    {
      name: 'no-circular',
      severity: 'error',
      comment:
        'These modules load each other in a circle, so one of them sees the other half made. Move what both need into a third file. (Entities that name each other: import type.)',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      comment: 'Nothing imports this file and it imports nothing: use it or delete it.',
      from: { orphan: true, path: '^src/', pathNot: ['^src/main\\.ts$', '\\.d\\.ts$', SPECS] },
      to: {},
    },

    {
      name: 'no-tests-in-production',
      severity: 'error',
      comment: 'The build has no tests in it: move what both need from test/ or a spec into src/.',
      from: { path: '^src/', pathNot: SPECS },
      to: { path: ['^test/', SPECS] },
    },
    {
      name: 'no-development-dependencies',
      severity: 'error',
      comment:
        'The image is installed without devDependencies: move this package to dependencies in package.json.',
      from: { path: '^src/', pathNot: SPECS },
      to: {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only'],
        pathNot: '/node_modules/@types/',
      },
    },
    {
      name: 'dependencies-are-declared',
      severity: 'error',
      comment:
        'package.json does not list this package; it is there because another one happens to need it. Add it, or use one that is listed.',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'imports-resolve',
      severity: 'error',
      comment: 'There is no such file or package. Relative imports end in .js, also where the file is a .ts.',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
