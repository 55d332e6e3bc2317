import { importMediaTypes, type MappingSuggestion } from '@millwright/api/imports.ts'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useApi } from '../../../app/session/app-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { DropZone } from '../../../components/forms/drop-zone.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { useFileDownload } from '../file-download.ts'
import { fileMessages } from '../messages.ts'
import { ColumnForm } from './column-form.tsx'
import { ImportSteps } from './import-steps.tsx'
import { previewedFile, setPreviewedFile } from './previewed-file.ts'
import '../files.css'

type Chosen = { file: File; suggestion: MappingSuggestion }

/** `UploadPage` uploads a file: the user chooses the file, checks its columns, and continues to the preview. */
export function UploadPage() {
  const text = useText(fileMessages)
  const api = useApi()
  const navigate = useNavigate()
  const [chosen, setChosen] = useState<Chosen>()
  const [isReading, setReading] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  usePageTitle(text.uploadTitle)
  const choose = async (file: File) => {
    setFailure(undefined)
    setReading(true)
    try {
      const body = sentFile(file)
      setChosen({ file, suggestion: (await api.imports.suggestMapping({ query: { fileName: file.name }, body })).data })
    } catch (error) {
      setFailure(error)
    } finally {
      setReading(false)
    }
  }
  const [{ from }] = useSearchState<'from'>()
  const chooseAgain = useEffectEvent(() => {
    const file = previewedFile(from)
    if (file !== undefined) choose(file)
  })
  useEffect(() => chooseAgain(), [])
  const preview = async (mapping: string | undefined) => {
    if (chosen === undefined) return
    const { file } = chosen
    const query = { dryRun: true, fileName: file.name, ...(mapping !== undefined && { mapping }) }
    const { data } = await api.imports.uploadFile({ query, body: sentFile(file) })
    setPreviewedFile(data.importId, file)
    await navigate({ to: `/files/imports/${data.importId}` })
  }
  return (
    <>
      <PageHeader
        title={text.uploadTitle}
        subtitle={text.uploadSubtitle}
        above={<ParentLink to="/files">{text.breadcrumb}</ParentLink>}
      />
      <ImportSteps current={chosen === undefined ? 'stepFile' : 'stepColumns'} />
      {chosen === undefined ? (
        <>
          {failure !== undefined && <ProblemMessage failure={failure} title={text.importFailed} />}
          {isReading ? (
            <Loading />
          ) : (
            <DropZone label={text.drop} hint={text.dropHint} accept={accepted} onFile={choose} />
          )}
          <Templates />
        </>
      ) : (
        <ColumnForm
          fileName={chosen.file.name}
          suggestion={chosen.suggestion}
          onPreview={preview}
          onBack={() => setChosen(undefined)}
        />
      )}
    </>
  )
}

/** Returns the body of an upload. The platform recognises the format from the content. */
function sentFile(file: File) {
  return { mediaType: 'application/octet-stream', content: file }
}

const accepted = ['.xlsx', '.csv', '.ndjson', '.aasx', ...Object.values(importMediaTypes)].join(',')

function Templates() {
  const text = useText(fileMessages)
  const { save, failure } = useFileDownload()
  const load = (format: 'xlsx' | 'csv') => save('imports', 'readTemplate', { query: { format } })
  return (
    <div className="templates">
      {text.templates}{' '}
      <button type="button" className="link-button" onClick={() => load('xlsx')}>
        {text.templateXlsx}
      </button>
      <button type="button" className="link-button" onClick={() => load('csv')}>
        {text.templateCsv}
      </button>
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </div>
  )
}
