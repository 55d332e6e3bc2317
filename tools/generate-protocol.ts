import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { hashOfSources, recordedSources } from '@millwright/api/proto/sources.ts'

/**
 * Generates the code in api/proto/generated from api/proto/*.proto. Run this program after a change of the .proto
 * files. The generator is downloaded on demand, so it is not a dependency.
 */
const generator = ['--package=@bufbuild/buf@1.74.0', '--package=@bufbuild/protoc-gen-es@2.16.0']
const template = {
  version: 'v2',
  plugins: [{ local: 'protoc-gen-es', out: '.', opt: ['target=js+dts', 'import_extension=js'] }],
}
const folder = dirname(recordedSources)

rmSync(folder, { recursive: true, force: true })
execFileSync(
  'npx',
  [
    '--yes',
    ...generator,
    'buf',
    'generate',
    resolve(folder, '..'),
    '--output',
    folder,
    '--template',
    JSON.stringify(template),
  ],
  { stdio: 'inherit', shell: process.platform === 'win32' },
)
writeFileSync(recordedSources, `${hashOfSources()}\n`)
