import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Answer, answerOf, firstLimit, markdownTable, replaceTable, reportOf } from './capacity/answer.ts'
import { capacityChart } from './capacity/chart.ts'
import { costBenchmarks, costsFile, readCosts, updatedCosts } from './capacity/costs.ts'
import { type CapacityArguments, goals, InvalidFigure, optionHelp, parseCapacityArguments } from './capacity/demand.ts'
import { print, type Report } from './report.ts'

/**
 * Computes the machines for an installation from measured costs. Examples:
 * - `npm run capacity` answers for the goals of the product.
 * - `npm run capacity -- --tenants 200 --assets 5000000 --gateways 2000 --users 500` answers for these figures.
 * - `-- --json` prints the answers for programs. `-- --help` lists all figures.
 * - `-- --measure costs` runs this benchmark again and stores its costs. `-- --measure all` runs all benchmarks of the
 *   costs. `-- --from <path>` stores the costs of a file that `npm run bench -- --json <path>` has written. `-- --note
 *   <text>` stores a remark with them, for example the load of the machine.
 * - `-- --pages` writes the table and the picture of docs/explanation/capacity.md again.
 */

try {
  run(parseCapacityArguments(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof InvalidFigure)) throw error
  console.error(error.message)
  process.exitCode = 1
}

function run(options: CapacityArguments): void {
  if (options.help) {
    console.log(`npm run capacity -- [options]\n\n${optionHelp()}`)
    return
  }
  if (options.from !== undefined) storeCosts(options.from, options.note)
  if (options.measure !== undefined) measureAgain(options.measure, options.note)
  const costs = readCosts()
  const { machines, demand } = options
  const asked = options.hasDemand ? [{ name: 'installation', demand }] : goals
  const answers = asked.map((goal) => answerOf(goal.name, { demand: goal.demand, machines, costs }))
  if (options.pages) writePages(answers)
  console.log(options.json ? JSON.stringify(answers, undefined, 2) : answers.map(printed).join('\n'))
}

function printed(answer: Answer): string {
  return `${print(reportOf(answer))}\n${firstLimit(answer)}\n`
}

/** Runs benchmarks and stores their costs. */
function measureAgain(names: string, note: string | undefined): void {
  const chosen = names === 'all' ? costBenchmarks : names.split(',')
  const unknown = chosen.find((name) => !costBenchmarks.includes(name))
  if (unknown !== undefined)
    throw new InvalidFigure(
      `--measure has the unknown benchmark "${unknown}". Use all, or some of: ${costBenchmarks.join(', ')}.`,
    )
  const folder = mkdtempSync(join(tmpdir(), 'millwright-capacity-'))
  try {
    const file = join(folder, 'bench.json')
    const bench = fileURLToPath(new URL('./bench.mjs', import.meta.url))
    const before = loadAverage()
    const { status } = spawnSync(process.execPath, [bench, ...chosen, '--json', file], { stdio: 'inherit' })
    if (status !== 0) throw new InvalidFigure('The benchmark failed, so the stored costs did not change.')
    storeCosts(file, note ?? `load average ${Math.max(before, loadAverage()).toFixed(0)}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Stores the costs of a file with the day on which the file was written, because the load of this moment is not its load. */
function storeCosts(file: string, note: string | undefined): void {
  const reports = readReports(file)
  const day = statSync(file).mtime.toISOString().slice(0, 10)
  const place = [day, `${availableParallelism()} virtual cores`, ...(note === undefined ? [] : [note])].join(', ')
  writeFileSync(costsFile, `${JSON.stringify(updatedCosts(readCosts(), reports, place), undefined, 2)}\n`)
}

function readReports(file: string): Record<string, Report> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new InvalidFigure(
      `${file} cannot be read as the JSON result of \`npm run bench\`: ${(error as Error).message}`,
    )
  }
}

function loadAverage(): number {
  return loadavg()[0] ?? 0
}

function writePages(answers: readonly Answer[]): void {
  const page = new URL('../docs/explanation/capacity.md', import.meta.url)
  writeFileSync(page, replaceTable(readFileSync(page, 'utf8'), markdownTable(answers)))
  writeFileSync(new URL('../docs/figures/capacity.svg', import.meta.url), capacityChart(answers))
}
