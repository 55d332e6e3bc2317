import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isInternal, pathOf } from '@millwright/api/contract.ts'
import { contracts } from '@millwright/api/contracts.ts'
import react from '@vitejs/plugin-react'
import type { InlineConfig, Plugin } from 'vite'

const web = dirname(fileURLToPath(import.meta.url))

/** Returns the Vite configuration of the console. */
export function buildOptions({ into }: { into: string }): InlineConfig {
  return {
    root: web,
    configFile: false,
    logLevel: 'warn',
    base: '/console/',
    publicDir: 'public',
    plugins: [react(), operationsModule()],
    build: {
      outDir: into,
      emptyOutDir: true,
      assetsDir: 'files',
      // Assets are never inlined, because the content security policy does not allow data: URLs.
      assetsInlineLimit: 0,
      manifest: 'manifest.json',
      target: 'es2023',
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1024,
      rolldownOptions: {
        input: {
          index: join(web, 'index.html'),
          documentation: join(web, 'source/documentation/documentation.ts'),
        },
        // The platform renders the pages of the documentation without the build, so the name of their script is fixed.
        output: {
          entryFileNames: ({ name }) => (name === 'documentation' ? 'documentation.js' : 'files/[name]-[hash].js'),
        },
      },
    },
  }
}

const moduleName = 'virtual:operations'

/**
 * Provides a virtual module with the method and path of every public operation. The browser does not load the schemas
 * of the contracts, because only the compiler needs their types.
 */
function operationsModule(): Plugin {
  return {
    name: 'operations',
    resolveId: (id) => (id === moduleName ? `\0${moduleName}` : undefined),
    load: (id) =>
      id === `\0${moduleName}` ? `export const operations = ${JSON.stringify(operationTable())}` : undefined,
  }
}

function operationTable() {
  return Object.fromEntries(
    Object.entries(contracts).map(([name, contract]) => [
      name,
      Object.fromEntries(
        Object.entries(contract.operations)
          .filter(([, operation]) => !isInternal(operation))
          .map(([operationName, operation]) => [operationName, [operation.method, pathOf(contract, operation)]]),
      ),
    ]),
  )
}
