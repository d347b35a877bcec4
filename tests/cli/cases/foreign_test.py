"""Command lines of Polygraphy on models of public reports: cases_foreign_test.py VERNIER SOURCE_DIR

The models are in ../shared/cases, and are not part of the project.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # judging
import judging
from judging import Case


class CasesForeign(Case):
    def setUp(self):
        super().setUp()
        self.cases = judging.ROOT / "../shared/cases"
        if not self.cases.is_dir():
            print("SKIPPED cases_foreign_test.py: ../shared/cases is not there")
            self.skipTest("../shared/cases is not there")

    def test_a_file_that_onnx_runtime_spoils_passes_without_its_optimisation(self):
        case = self.cases / "cast_mul_one"
        words = ["polygraphy", "run", case / "model.onnx", "--onnxrt", "--trt", "--stand-in", "cpu", "--load-inputs", case / "inputs.npz"]
        status, out, err = judging.vernier(*words)
        self.assertNotEqual(status, 0)
        self.assertIn("'mid' is not a graph input", err)
        self.assertRegex(out.splitlines()[-1], r"^\[E\] FAILED \| Runtime: ")
        status, out, err = judging.vernier(*words, "--graph-optimization-level", "ORT_DISABLE_ALL")
        self.assertEqual(status, 0, out + err)
        self.assertIn("PASSED | Output: 'y' | Difference is within tolerance (rel=1e-05, abs=1e-05)", out)
        self.assertRegex(out.splitlines()[-1], r"^\[I\] PASSED \| Runtime: ")


if __name__ == "__main__":
    judging.main()
