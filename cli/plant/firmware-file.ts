import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createFirmware, FirmwareError } from '@millwright/links/plant/firmware.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { usageError } from '../output/error-report.ts'
import { wholeNumber } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { formatBytes } from '../output/text.ts'

type Options = { product: string; version: string; output: string; size: number }

const largestKib = 64 * 1024

export function addFirmwareCommand(plant: Command, terminal: Terminal): void {
  plant
    .command('firmware')
    .description('create firmware for devices of a simulated plant; the same options create the same file')
    .requiredOption('--product <product>', "product id or name of the devices, such as 'KC 1515-2'", line)
    .requiredOption('--version <version>', 'version that the devices report after the update', line)
    .requiredOption('--output <file>', 'file to write')
    .option('--size <KiB>', 'size of the payload', wholeNumber(0, largestKib), 64)
    .addHelpText(
      'after',
      `
Examples:
  millwright plant firmware --product 'KC 1515-2' --version 3.2.0 --output kc1515.bin`,
    )
    .action(async ({ product, version, output, size }: Options) => {
      const content = firmwareOf({ product, version, bytes: size * 1024 })
      await writeFile(output, content).catch(({ code, message }: NodeJS.ErrnoException) => {
        throw usageError(`${output} cannot be written (${code ?? message}).`)
      })
      const sha256 = createHash('sha256').update(content).digest('hex')
      await terminal.print(
        `${output} written: ${product} ${version}, ${formatBytes(content.length)}, SHA-256 ${sha256}`,
      )
    })
}

function firmwareOf({ product, version, bytes }: { product: string; version: string; bytes: number }): Buffer {
  try {
    return createFirmware({ product, version, payload: payloadOf(`${product}\n${version}`, bytes) })
  } catch (error) {
    throw error instanceof FirmwareError ? usageError(error.message) : error
  }
}

/** Returns bytes that depend only on the text and that cannot be compressed. */
function payloadOf(text: string, bytes: number): Uint8Array {
  return createHash('shake256', { outputLength: Math.max(1, bytes) })
    .update(text)
    .digest()
    .subarray(0, bytes)
}

function line(text: string): string {
  if (text.trim() !== '') return text.trim()
  throw new InvalidArgumentError('Expected a text.')
}
