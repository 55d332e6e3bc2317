import { readFileSync, writeFileSync } from 'node:fs'
import { type Costs, readCosts } from './capacity/costs.ts'
import { InvalidFigure } from './capacity/demand.ts'
import {
  diskReport,
  largestPlant,
  machinesReport,
  overview,
  parseSizingArguments,
  plantOf,
  plantsReport,
  type SizingArguments,
  sizingHelp,
  sizingOf,
  withSizingTables,
} from './capacity/sizing.ts'
import { print, type Report } from './report.ts'

/**
 * Prints the machine for a plant, and the largest plant of a machine, with the capacity model. Examples:
 * - `npm run sizing` prints typical plants and typical machines.
 * - `npm run sizing -- --assets 20000 --gateways 12` prints the machine for this plant.
 * - `npm run sizing -- --cores 4 --memory 8 --disk 200` prints the largest plant of this machine.
 * - `-- --pages` writes the tables of docs/explanation/capacity.md again.
 */

try {
  run(parseSizingArguments(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof InvalidFigure)) throw error
  console.error(error.message)
  process.exitCode = 1
}

function run({ plant, machine, json, pages, help }: SizingArguments): void {
  if (help) {
    console.log(sizingHelp())
    return
  }
  const costs = readCosts()
  if (pages) writePage(costs)
  if (machine !== undefined) {
    const largest = largestPlant(machine, plant ?? plantOf({}), costs)
    show(json, largest, [machinesReport([largest])])
  } else if (plant !== undefined) {
    const sizing = sizingOf(plant, costs)
    show(json, sizing, [plantsReport([{ name: 'your plant', sizing }]), diskReport(sizing)])
  } else {
    const { plants, machines } = overview(costs)
    show(json, { plants, machines }, [plantsReport(plants), machinesReport(machines)])
  }
}

function show(json: boolean, answer: object, reports: readonly Report[]): void {
  console.log(json ? JSON.stringify(answer, undefined, 2) : reports.map(print).join('\n'))
}

function writePage(costs: Costs): void {
  const page = new URL('../docs/explanation/capacity.md', import.meta.url)
  writeFileSync(page, withSizingTables(readFileSync(page, 'utf8'), overview(costs)))
}
