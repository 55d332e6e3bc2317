import { iconImport } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'files',
  title: { en: 'Import and export', de: 'Import und Export' },
  description: {
    en: 'Import assets from files, and download exports',
    de: 'Assets aus Dateien importieren und Exporte herunterladen',
  },
  icon: iconImport,
  path: '/files',
  group: 'connection',
  permissions: ['glb_file_import', 'glb_file_export'],
  routes: [
    { path: '', load: async () => (await import('./files-page.tsx')).FilesPage },
    {
      path: 'import',
      load: async () => (await import('./import/upload-page.tsx')).UploadPage,
      permission: 'glb_file_import',
    },
    {
      path: 'imports/$id',
      load: async () => (await import('./import/import-page.tsx')).ImportPage,
      permission: 'glb_file_import',
    },
  ],
  commands: [{ title: { en: 'Exports', de: 'Exporte' }, search: { view: 'exports' }, permission: 'glb_file_export' }],
}
