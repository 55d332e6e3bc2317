import { iconDocument, iconDownload, iconFolder, iconFolderUp, iconRefresh } from '@siemens/ix-icons/icons'
import { IxButton, IxIconButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type DragEvent, useRef, useState } from 'react'
import type { Failure } from '../../../app/api/failure.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { Time } from '../../../components/values/time.tsx'
import { useOpenStream } from '../streams/session-stream.ts'
import type { EntriesMessage, FolderEntry } from '../streams/stream-message.ts'
import { listFolder } from './file-streams.ts'
import { fileMessages } from './messages.ts'
import { foldersOf, parentOf, pathIn } from './remote-path.ts'
import { TransferList } from './transfer-list.tsx'
import { type Transfers, useTransfers } from './transfers.ts'

type FilesPanelProps = { sessionId: string; isSignedIn: boolean }

/** The folder that is shown first: the home folder of the user on the device. */
const homeFolder = '.'

/** `FilesPanel` lists the folders of a device, and transfers files by SFTP. */
export function FilesPanel({ sessionId, isSignedIn }: FilesPanelProps) {
  const text = useText(fileMessages)
  const openStream = useOpenStream(sessionId)
  const queryClient = useQueryClient()
  const [path, setPath] = useState(homeFolder)
  const key = ['remote-access', 'files', sessionId]
  const folder = useQuery<EntriesMessage, Failure>({
    queryKey: [...key, path],
    queryFn: () => listFolder(openStream, path),
    enabled: isSignedIn,
    refetchOnWindowFocus: false,
    retry: false,
    staleTime: 0,
  })
  const refresh = () => queryClient.invalidateQueries({ queryKey: key })
  const transfers = useTransfers(openStream, refresh)
  return (
    <section className="files-panel" aria-label={text.files}>
      <h2>{text.files}</h2>
      {!isSignedIn && folder.data === undefined && <p className="quiet">{text.signInFirst}</p>}
      {folder.error !== null && (
        <ProblemMessage failure={folder.error} title={text.listFailed} onRetry={() => folder.refetch()} />
      )}
      {isSignedIn && folder.isPending && folder.error === null && <Loading />}
      {folder.data !== undefined && (
        <FolderView folder={folder.data} onOpen={setPath} onRefresh={refresh} transfers={transfers} />
      )}
      {folder.error !== null && path !== homeFolder && (
        <IxButton variant="secondary" onClick={() => setPath(parentOf(path) ?? homeFolder)}>
          {text.up}
        </IxButton>
      )}
      <TransferList transfers={transfers} />
    </section>
  )
}

type FolderViewProps = {
  folder: EntriesMessage
  onOpen: (path: string) => void
  onRefresh: () => void
  transfers: Transfers
}

function FolderView({ folder, onOpen, onRefresh, transfers }: FolderViewProps) {
  const text = useText(fileMessages)
  const input = useRef<HTMLInputElement>(null)
  const [isOver, setOver] = useState(false)
  const [replaced, setReplaced] = useState<File[]>()
  const parent = parentOf(folder.path)
  const existing = new Set(folder.entries.map(({ name }) => name))
  const upload = (files: readonly File[]) => {
    for (const file of files) transfers.upload(pathIn(folder.path, file.name), file)
  }
  const choose = (chosen: FileList | null) => {
    const files = [...(chosen ?? [])]
    if (files.some(({ name }) => existing.has(name))) setReplaced(files)
    else upload(files)
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    choose(event.dataTransfer.files)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button inside offers the same without a mouse
    <div
      className="files-folder"
      data-over={isOver}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <nav className="files-path" aria-label={text.folders}>
        {foldersOf(folder.path).map(({ name, path }, index) => (
          <span key={path}>
            {index > 1 && <span aria-hidden="true">/</span>}
            <button type="button" className="link-button" onClick={() => onOpen(path)}>
              {name}
            </button>
          </span>
        ))}
      </nav>
      <div className="files-tools">
        <IxIconButton
          icon={iconFolderUp}
          variant="subtle-tertiary"
          aria-label={text.up}
          disabled={parent === undefined}
          onClick={() => onOpen(parent ?? folder.path)}
        />
        <IxIconButton icon={iconRefresh} variant="subtle-tertiary" aria-label={text.refresh} onClick={onRefresh} />
        <IxButton variant="secondary" onClick={() => input.current?.click()}>
          {text.upload}
        </IxButton>
        <input
          ref={input}
          type="file"
          multiple
          hidden
          onChange={({ target }) => {
            choose(target.files)
            target.value = ''
          }}
        />
        <span className="field-hint">{text.dropHint}</span>
      </div>
      <EntryTable folder={folder} onOpen={onOpen} transfers={transfers} />
      {!folder.isComplete && <p className="quiet">{text.notComplete}</p>}
      {replaced !== undefined && (
        <ConfirmDialog
          title={text.replaceTitle}
          action={text.replace}
          isDangerous
          onConfirm={async () => upload(replaced)}
          onClose={() => setReplaced(undefined)}
        >
          <p>
            {text.replaceText(
              replaced
                .map(({ name }) => name)
                .filter((name) => existing.has(name))
                .join(', '),
            )}
          </p>
        </ConfirmDialog>
      )}
    </div>
  )
}

function EntryTable({ folder, onOpen, transfers }: Omit<FolderViewProps, 'onRefresh'>) {
  const text = useText(fileMessages)
  const formats = useFormats()
  if (folder.entries.length === 0) return <p className="quiet">{text.empty}</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: users without a mouse scroll the list with the keyboard
    <section className="files-entries" aria-label={folder.path} tabIndex={0}>
      <PlainTable columns={[text.name, text.size, text.modified, { unseen: text.actions }]}>
        {sorted(folder.entries).map((entry) => (
          <tr key={entry.name}>
            <td>
              <span className="files-name">
                <Icon name={entry.type === 'folder' ? iconFolder : iconDocument} size={16} />
                {entry.type === 'folder' ? (
                  <button type="button" className="link-button" onClick={() => onOpen(pathIn(folder.path, entry.name))}>
                    {entry.name}
                  </button>
                ) : (
                  <span>{entry.name}</span>
                )}
              </span>
            </td>
            <td>{entry.type === 'file' && entry.size !== undefined && formats.bytes(entry.size)}</td>
            <td>{entry.modified !== undefined && <Time at={entry.modified} />}</td>
            <td>
              {entry.type === 'file' && (
                <IxIconButton
                  icon={iconDownload}
                  size="16"
                  variant="subtle-tertiary"
                  aria-label={text.downloadOf(entry.name)}
                  onClick={() => transfers.download(pathIn(folder.path, entry.name), entry.name)}
                />
              )}
            </td>
          </tr>
        ))}
      </PlainTable>
    </section>
  )
}

/** Returns the entries by name, folders first. */
function sorted(entries: readonly FolderEntry[]): FolderEntry[] {
  const rank = ({ type }: FolderEntry) => (type === 'folder' ? 0 : 1)
  return entries.toSorted((one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name))
}
