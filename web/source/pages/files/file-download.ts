import { useState } from 'react'
import type { ContractName, FetchOperation } from '../../app/api/client.ts'
import { useAppContext } from '../../app/session/app-context.tsx'
import { download } from '../../components/actions/download.ts'

type DownloadInput = Parameters<FetchOperation>[2]

/** Returns a function that downloads the file of an operation, and the failure of the last download. */
export function useFileDownload() {
  const { fetchOperation } = useAppContext()
  const [failure, setFailure] = useState<unknown>()
  const save = async (contract: ContractName, operation: string, input: DownloadInput) => {
    try {
      setFailure(undefined)
      const answer = await fetchOperation(contract, operation, input)
      download(await answer.blob(), fileNameOf(answer))
    } catch (error) {
      setFailure(error)
    }
  }
  return { save, failure }
}

/** Returns the file name in a response. */
function fileNameOf({ headers }: Response): string {
  const header = headers.get('content-disposition') ?? ''
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(header)?.[1]
  return encoded === undefined ? (/filename="([^"]*)"/i.exec(header)?.[1] ?? 'download') : decodeURIComponent(encoded)
}
