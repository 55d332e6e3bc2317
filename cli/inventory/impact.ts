import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Command } from 'commander'
import { assetId } from '../input/lookup.ts'
import type { Terminal } from '../output/terminal.ts'
import { sanitize } from '../output/text.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

type ImpactOptions = { fails?: boolean; csv?: boolean; save?: string | true }

export function addCommands(impact: Command, terminal: Terminal): void {
  platformCommand(
    impact
      .argument('<asset>', 'id or name')
      .option('--fails', 'what is lost if the asset fails; considers other network paths and redundant partners')
      .option('--csv', 'print the assets as CSV')
      .option('--save [name]', 'store the result as a report'),
    terminal,
    showImpact,
  )
}

async function showImpact(session: Session, asset: string, { fails, csv, save }: ImpactOptions): Promise<void> {
  const { output, terminal } = session
  const api = session.api(inventory)
  const id = await assetId(session, asset)
  const mode = fails ? 'fails' : 'depends'
  if (save !== undefined) {
    const body = { data: { assetId: id, mode, ...(save === true ? {} : { name: save }) } } as const
    const answer = await api.createImpactReport({ body })
    return output.done(`Report ${answer.data.id} created: ${sanitize(answer.data.name)}`, answer)
  }
  if (csv) return terminal.print(String(await api.exportImpact({ params: { id }, query: { mode } })).trimEnd())
  const answer = await api.readImpact({ params: { id }, query: { mode } })
  if (!output.isText) return output.show(answer)
  const { total, byNode, assets, truncated } = answer.data
  await terminal.print(`Affected: ${total.affected}, degraded: ${total.degraded}`)
  for (const { names, affected, degraded } of byNode)
    await terminal.print(
      `  ${names.length === 0 ? 'without a node' : names.map(sanitize).join(' / ')}: ${affected} affected, ${degraded} degraded`,
    )
  await output.list(
    { data: assets },
    {
      columns: { name: 'name', class: 'class', effect: 'effect', reason: 'reason', depth: 'depth', id: 'id' },
      nothing: 'No other asset is affected.',
    },
  )
  if (truncated) terminal.note('The analysis stopped at its size limit. More assets may be affected.')
}
