import { discovery } from '@millwright/api/discovery.ts'
import type { PacketCounts } from '@millwright/api/receipt.ts'
import { isReceipt, type ReceiptCheck, type ReceiptFault, verifyReceipt } from '@millwright/api/receipt-signature.ts'
import { type Command, Option } from 'commander'
import { readJson } from '../input/json-input.ts'
import { CommandError } from '../output/error-report.ts'
import { Output } from '../output/output.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { summaryLines, totalOf } from './receipt-summary.ts'

const deviceColumns: Columns = {
  address: ({ address, network }) => address ?? network,
  number: ({ packets }) => totalOf(packets as PacketCounts),
  classes: ({ packets }) =>
    Object.entries(packets as PacketCounts)
      .map(([name, number]) => `${name} ${number}`)
      .join(', '),
  first: 'first',
  last: 'last',
}

const receiptColumns: Columns = {
  lease: 'lease',
  state: 'state',
  from: 'from',
  to: 'to',
}

export function addCommands(command: Command, terminal: Terminal): void {
  platformCommand(
    command
      .command('show')
      .description('show what a scan sent to each device')
      .argument('<jobId>', 'id of the scan')
      .option('--run <id>', 'id of the run (default: the latest)')
      .option('--lease <id>', 'lease of the receipt, if the run has several (default: the newest receipt)'),
    terminal,
    show,
  ).addHelpText(
    'after',
    `
A run has several receipts if its gateway was interrupted and scanned again. The output lists all of them.
With --json, the output is the receipt as the gateway signed it. Save it to verify it later, also without the platform.

Examples:
  millwright receipt show 019a1e0d-57cf-77f3-92dd-e7c00fda9e0e
  millwright receipt show 019a1e0d-57cf-77f3-92dd-e7c00fda9e0e --json > receipt.json`,
  )

  command
    .command('verify')
    .description('verify a saved receipt; needs no connection to a platform')
    .argument('<file>', 'receipt or output of "millwright scan --json", or - for standard input')
    .option('--fingerprint <thumbprint>', 'require this key: the key thumbprint of the gateway')
    .addOption(
      new Option('--allow-unsigned', 'accept the receipt of a scan without a gateway').conflicts('fingerprint'),
    )
    .option('--json', 'print JSON')
    .action((file: string, options: VerifyOptions) => verify(terminal, file, options))
    .addHelpText(
      'after',
      `
The exit code is 0 if the signature is valid, and 1 if the receipt was changed or is not signed.
A valid signature proves that nothing was changed after the key signed the receipt. It proves the gateway only if the key is
the key of the gateway. "millwright gateway show <gateway>" and the console show the key thumbprint of each gateway. Note it
at enrolment, then pass it with --fingerprint.

Examples:
  millwright receipt verify receipt.json
  millwright receipt verify receipt.json --fingerprint QaIvtAqs4h7yVfVn6Pg2Z0HyIgbM4Fk4L2Q2wS3Ck9M
  millwright receipt verify - --allow-unsigned < receipt.json`,
    )
}

type ShowOptions = { run?: string; lease?: string }

async function show({ api, output, terminal }: Session, jobId: string, { run, lease }: ShowOptions): Promise<void> {
  const query = { ...(run === undefined ? {} : { run }), ...(lease === undefined ? {} : { lease }) }
  const answer = await api(discovery).getReceipt({ params: { jobId }, query })
  if (!output.isText) return output.show(answer)
  const { data: receipt, meta } = answer
  for (const line of summaryLines(receipt)) await terminal.print(line)
  if (receipt.devices.length > 0) {
    await terminal.print('')
    await output.list({ data: receipt.devices }, { columns: deviceColumns, nothing: '' })
  }
  if (meta.receipts.length > 1) {
    await terminal.print('')
    await terminal.print(`The run has ${meta.receipts.length} receipts. Show another one with --lease.`)
    await output.list({ data: meta.receipts }, { columns: receiptColumns, nothing: '' })
  }
  await terminal.print('')
  await terminal.print(`Signature ${meta.verified ? 'valid' : 'NOT VALID'}, key ${meta.keyThumbprint}`)
}

type VerifyOptions = { fingerprint?: string; allowUnsigned?: true; json?: true }

const faults: Readonly<Record<ReceiptFault, string>> = {
  unsigned: 'The receipt is not signed',
  unreadable_signature: 'Not valid: the signature of the receipt is not readable',
  changed: 'Not valid: the receipt was changed after it was signed',
}

async function verify(terminal: Terminal, file: string, options: VerifyOptions): Promise<void> {
  const source = file === '-' ? 'Standard input' : file
  const content = await readJson(terminal, file)
  const document = isObject(content) ? (receiptIn(content) ?? content) : content
  if (!isObject(document)) throw new CommandError(`${source} is not a receipt.`)
  const check = verifyReceipt(document)
  requireTrust(check, options)
  if (!isReceipt(document)) {
    throw new CommandError(`${source} is not a receipt that this version can read.`, {
      next: 'millwright receipt show <jobId> --json prints a receipt',
    })
  }
  const { thumbprint } = check
  const { jobId, from, to, state, totals } = document
  const isSigned = check.isValid
  const output = new Output(terminal, options.json ? 'json' : 'text')
  if (!output.isText)
    return output.show({ data: { isValid: isSigned, keyThumbprint: thumbprint, jobId, from, to, state, totals } })
  await terminal.print(isSigned ? `Valid. Signed with the key ${thumbprint}.` : 'Not signed: a scan without a gateway.')
  for (const line of summaryLines(document)) await terminal.print(line)
  if ('gatewayId' in document && options.fingerprint === undefined)
    terminal.note(
      `Any key can sign a receipt. Compare the key with that of the gateway: millwright gateway show ${document.gatewayId}`,
    )
}

/** Returns the receipt in a response of the platform (`data`), or in the output of `millwright scan --json` (`receipt`). */
function receiptIn({ data, receipt }: Record<string, unknown>): Record<string, unknown> | undefined {
  return [data, receipt].find(isObject)
}

/** Requires a valid signature of the expected key, or an unsigned receipt if it is allowed. */
function requireTrust(check: ReceiptCheck, { fingerprint, allowUnsigned }: VerifyOptions): void {
  if (!check.isValid) {
    if (check.reason === 'unsigned' && allowUnsigned) return
    throw new CommandError(
      `${faults[check.reason]}.`,
      check.reason === 'unsigned'
        ? { next: 'a scan without a gateway has no signature; accept its receipt with --allow-unsigned' }
        : { next: 'get the receipt again: millwright receipt show <jobId> --json' },
    )
  }
  if (fingerprint !== undefined && fingerprint !== check.thumbprint) {
    throw new CommandError(
      `Not valid: the receipt is signed with the key ${check.thumbprint}, not with the key ${fingerprint}.`,
      { next: 'compare both with the key thumbprint of the gateway: millwright gateway show <gateway>' },
    )
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
