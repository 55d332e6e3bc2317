import type { EnduranceResult } from './endurance.ts'

/** Returns the figures of an endurance run as the lines of Markdown tables. */
export function enduranceReport(result: EnduranceResult): string[] {
  const { database, skipped } = result
  return [
    ...result.messages.map((message) => `unexpected: ${message}`),
    ...table(
      ['Work', 'Completed', 'Injected failures', 'Unexpected failures'],
      [...result.outcomes].map(([kind, counts]) => [kind, counts.requests, counts.injected, counts.unexpected]),
    ),
    ...table(
      ['Fault', 'Count', 'Median recovery', 'Longest recovery'],
      result.faults.map(({ name, count, medianMs, longestMs }) => [name, count, seconds(medianMs), seconds(longestMs)]),
    ),
    ...skipped.map((reason) => `skipped: ${reason}`),
    ...table(['Task', 'Checked objects'], [...result.checked]),
    ...table(
      ['Process', 'Life', 'Memory in its second quarter', 'Memory in its last quarter'],
      result.memory.map(({ name, minutes, startMiB, endMiB, isCompared }) => [
        name,
        `${minutes} min${isCompared ? '' : ' (too short to compare)'}`,
        `${startMiB} MiB`,
        `${endMiB} MiB`,
      ]),
    ),
    ...table(
      ['Handles', 'Before', 'After'],
      result.handles.map(({ name, before, after }) => [name, before, after]),
    ),
    `${result.minutes} minutes with faults, database ${database.sizeMiB} MiB, ${database.auditEntries} audit entries, ${database.events} events`,
  ]
}

function table(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  return ['', line(headings), `|${'---|'.repeat(headings.length)}`, ...rows.map(line), '']
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
