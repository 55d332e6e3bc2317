import { useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { TabbedPage } from '../../components/page/tabbed-page.tsx'
import { ExportList } from './export/export-list.tsx'
import { ImportList } from './import/import-list.tsx'
import { MappingList } from './import/mapping-list.tsx'
import { fileMessages } from './messages.ts'

/** `FilesPage` lists imports, exports and column mappings. */
export function FilesPage() {
  const text = useText(fileMessages)
  const canImport = usePermission('glb_file_import')
  const canExport = usePermission('glb_file_export')
  const imports = { title: text.imports, View: ImportList }
  const exports = { title: text.exports, View: ExportList }
  const mappings = { title: text.mappings, View: MappingList }
  const views: Record<string, typeof imports> = {
    ...(canImport && { imports }),
    ...(canExport && { exports }),
    ...(canImport && { mappings }),
  }
  return <TabbedPage title={text.title} subtitle={text.subtitle} label={text.views} views={views} />
}
