import { productVersion } from '@millwright/cloud/version.ts'
import { Command } from 'commander'
import { exitCodes, reportAndExit } from '../output/error-report.ts'
import { addRunning } from './gateway.ts'

/** `millwright gateway` alone: a gateway runs on small machines, where the cloud part is not even loaded. */
const program = new Command('millwright')
  .version(productVersion)
  .showHelpAfterError('(see millwright gateway --help)')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : exitCodes.usage))

addRunning(program.command('gateway'))

await program.parseAsync().catch(reportAndExit)
