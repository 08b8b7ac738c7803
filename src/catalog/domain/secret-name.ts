/** A secret reaches an agent as an environment variable of its own name. */
export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** Variables that decide which programs, libraries or start-up files a process loads, or how a shell reads what it is given. */
const RESERVED_NAMES = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'PWD', 'OLDPWD', 'TMPDIR', 'TMP', 'TEMP'],
  ...['ENV', 'BASH_ENV', 'BASHOPTS', 'SHELLOPTS', 'IFS', 'CDPATH', 'PS4', 'PROMPT_COMMAND', 'ZDOTDIR'],
  ...['NODE_OPTIONS', 'NODE_PATH', 'NODE_EXTRA_CA_CERTS', 'NODE_TLS_REJECT_UNAUTHORIZED'],
  ...['PYTHONHOME', 'PYTHONPATH', 'PYTHONSTARTUP', 'PERL5LIB', 'PERL5OPT', 'RUBYLIB', 'RUBYOPT'],
  ...['JAVA_TOOL_OPTIONS', 'JDK_JAVA_OPTIONS', '_JAVA_OPTIONS', 'GCONV_PATH', 'LOCPATH'],
  // What a worker tells its runner.
  'TASK_ID',
  // No variable at all, but the one key that an object of values must not have.
  '__PROTO__',
]);

/** The dynamic linkers', git's, bash's exported functions, and what workers and runners tell each other. */
const RESERVED_PREFIXES = ['LD_', 'DYLD_', 'GIT_', 'BASH_FUNC_', 'WARP_', 'OZ_', 'MILLWRIGHT_'];

/** Whether a secret of this name would break or take over the processes that get it. Upper and lower case are one. */
export function isReservedSecretName(name: string): boolean {
  const upper = name.toUpperCase();
  return RESERVED_NAMES.has(upper) || RESERVED_PREFIXES.some((prefix) => upper.startsWith(prefix));
}
