import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { verifyExport } from '@millwright/cloud/platform/audit/chain.ts'
import type { Command } from 'commander'
import { reportAndExit } from './report.ts'

export function addCommands(audit: Command): void {
  audit
    .command('verify')
    .description('check an exported audit trail (GET /audit/v1/export) for tampering, without a server')
    .requiredOption('--file <path>', 'the export, NDJSON')
    .action(async ({ file }: { file: string }) => {
      const lines = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })
      const found = await verifyExport(lines).catch((error: NodeJS.ErrnoException) => {
        return reportAndExit(`${file} cannot be read (${error.code ?? error.message})`)
      })
      if (found.firstFault !== null) {
        console.error(`Not intact: entry ${found.firstFault.sequence}: ${found.firstFault.detail}`)
        process.exit(1)
      }
      console.log(`Intact: ${found.checked} entries.`)
    })
}
