import { productVersion } from '@millwright/cloud/platform/version.ts'
import { Command } from 'commander'
import { exitCodes, reportAndExit } from '../output/error-report.ts'
import { addRunCommand } from './gateway.ts'

/**
 * Entry point of `millwright gateway`. It does not load the cloud part, so that a gateway also runs on small machines.
 */
const program = new Command('millwright')
  .version(productVersion)
  .showHelpAfterError('See millwright gateway --help')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : exitCodes.usage))

addRunCommand(program.command('gateway'))

await program.parseAsync().catch(reportAndExit)
