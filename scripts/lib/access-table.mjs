/**
 * The table of docs/access.md: which role may call which operation.
 *
 * @param {object} document the OpenAPI document
 * @param {Record<string, readonly string[]>} permissionsOfRole
 * @param {Record<string, string[]>} rolesOfCaller the roles that a caller of each role has
 * @returns {string} Markdown as Prettier writes it
 */
export function renderAccessTable(document, permissionsOfRole, rolesOfCaller) {
  const callers = Object.keys(rolesOfCaller);
  const rows = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => {
      const permission = operation['x-required-permission'];
      const marks = callers.map((caller) => {
        const allowed =
          permission === undefined ||
          rolesOfCaller[caller].some((role) => permissionsOfRole[role].includes(permission));
        return allowed ? '✓' : '';
      });
      return [`\`${method.toUpperCase()} ${path}\``, permission ?? 'public', ...marks];
    }),
  );
  const table = [['operation', 'permission', ...callers], ...rows];
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return `# Who may call what

Every operation declares one permission, or that it is public. A person acts for one team at a time; what they are in that team
adds to what every person may do. Whether a resource belongs to the caller is judged after that: one that they may not know of
answers 404. \`npm run docs:access\` writes this page, and a test tries every cell that is empty.

${[line(table[0]), rule, ...rows.map(line)].join('\n')}
`;
}
