import { problemCodes } from '@millwright/api/problem.ts'

/** Prints the table of problem codes as docs/problems.md has it. */
const rows = Object.entries(problemCodes).map(([code, { status, title }]) => `| \`${code}\` | ${status} | ${title} |`)
console.log(['| Code | Status | Meaning |', '|---|---|---|', ...rows].join('\n'))
