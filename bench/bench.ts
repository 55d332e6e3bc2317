import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { front } from './front.ts'
import { print, type Report } from './report.ts'
import { revocation } from './revocation.ts'
import { start } from './start.ts'

/** `npm run bench`, `npm run bench front start`, `-- --json <path>` for programs, `-- --profile <folder>` for the curious. */

export type Options = {
  /** Where to write CPU profiles of the process under test. */
  profile: string | undefined
}

const benchmarks: Record<string, (options: Options) => Promise<Report>> = { start, front, revocation }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' }, profile: { type: 'string' } },
})
const names = positionals.length === 0 ? Object.keys(benchmarks) : positionals
const unknown = names.find((name) => !Object.hasOwn(benchmarks, name))
if (unknown !== undefined) {
  console.error(`There is no benchmark ${unknown}; there are ${Object.keys(benchmarks).join(', ')}.`)
  process.exit(1)
}

const reports: Record<string, Report> = {}
for (const name of names) {
  const report = await benchmarks[name]?.({ profile: values.profile })
  if (report === undefined) continue
  reports[name] = report
  console.log(print(report))
}
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(reports, undefined, 2)}\n`)
