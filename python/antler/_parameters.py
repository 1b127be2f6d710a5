"""The parameters of a Reconstructor. Written by scripts/parameters.py from the table of settings: do not edit."""
# ruff: noqa: E501 - numpydoc wants name, values and default of a parameter on one line

from __future__ import annotations

from typing import Any, Optional

from ._estimator import Estimator


class Parameters(Estimator):
    """One parameter per setting of a training, with the default of the table."""

    def __init__(
        self,
        model: str = "shplrnn",
        latent_dim: int = 5,
        hidden_dim: int = 50,
        *,
        rank: int = 0,
        clipped: bool = False,
        diagonal: str = "tanh",
        initialisation: str = "auto",
        kappa: float = 0.0,
        initialise_A: str = "auto",
        initialise_weights: str = "auto",
        initialise_B: str = "auto",
        sequence_length: int = 200,
        batch_size: int = 16,
        warmup: int = 0,
        gtf_alpha: float = 0.1,
        gtf_alpha_method: str = "constant",
        gtf_alpha_interval: int = 5,
        gtf_alpha_decay: float = 0.999,
        gtf_alpha_schedule: str = "constant",
        gtf_alpha_end: float = 0.0,
        forcing_interval: int = 0,
        forcing_interval_method: str = "given",
        lyapunov_exponent: float = 0.0,
        teacher: str = "flow",
        noise: float = 0.0,
        sampling_start: float = 0.0,
        sampling_end: float = 0.0,
        solver: str = "auto",
        adjoint: str = "full",
        start: str = "pinv",
        tolerance: float = 0.0,
        max_iterations: int = 100,
        fallback: bool = True,
        segments: int = 0,
        check_interval: int = 0,
        updates: int = 20000,
        optimiser: str = "radam",
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        start_lr: float = 0.005,
        end_lr: float = 1e-06,
        schedule: str = "cosine",
        gradient_clip: float = 10.0,
        validation: float = 0.2,
        validation_interval: int = 0,
        MAR_lambda: float = 0.0,
        MAR_p: int = 2,
        MAR_initial_scale: bool = False,
        regularised_units: int = 0,
        readout_lambda: float = 0.0,
        singular_lambda: float = 0.0,
        latent_lambda: float = 0.0,
        observation_lambda: float = 0.0,
        condition_lambda: float = 0.0,
        experiment: str = "experiment",
        name: str = "run",
        runs: int = 1,
        precision: str = "float",
        threads: int = 0,
        device: str = "auto",
        log_interval: int = 100,
        checkpoint_interval: int = 1000,
        dt: float = 0.0,
        standardise: bool = True,
        missing: str = "mask",
        missing_interpolate: int = 10,
        results: Optional[str] = None,
        random_state: Any = 1,
        verbose: bool = True,
        **settings: Any,
    ) -> None:
        """``fit`` checks the values; a name that is no setting is refused at once.

        Parameters
        ----------
        model : {'shplrnn', 'lssm', 'mamba2'}, default 'shplrnn'
            Kind of model: shplrnn, the shallow piecewise-linear RNN; lssm, a linear recurrence with the same hidden
            layer as readout; mamba2, a Mamba-2 block with that readout.
        latent_dim : int in [1, 65536], default 5
            M, latent units; of a mamba2 the width of its block, a multiple of 4.
        hidden_dim : int in [1, 65536], default 50
            L, hidden units.
        rank : int in [0, 65536], default 0
            Rank of W, at most min(latent_dim, hidden_dim); 0 stores W in full.
        clipped : bool, default False
            Use W[phi(Vz+b) - phi(Vz)], whose orbits stay bounded.
        diagonal : {'tanh', 'free'}, default 'tanh'
            The diagonal A: tanh, A = tanh(Abar) is within (-1, 1) and Abar is trained; free, A is trained.
        initialisation : {'memory', 'standard', 'auto'}, default 'auto'
            Initial values: memory, A = kappa and other weights of order 1 - kappa; standard, A from a random
            positive definite matrix and other weights uniform in +-columns^-1/2; auto, one of them by sizes and
            data, named with its reason when training begins; config.yaml has the choice. A mamba2 has its own, the
            same for all.
        kappa : float in [0, 1), default 0.0
            Diagonal of A at the start; the other weights begin of order 1 - kappa. A value above 0 makes auto the
            start memory. 0: chosen by auto, 0.9995 with memory. Not with initialisation: standard.
        initialise_A : {'auto', 'kappa', 'random'}, default 'auto'
            A at the start: kappa; random, from a random positive definite matrix; auto, as in initialisation.
        initialise_weights : {'auto', 'small', 'uniform'}, default 'auto'
            Other weights at the start, uniform: small, of order 1 - kappa; uniform, in +-columns^-1/2; auto, as in
            initialisation.
        initialise_B : {'auto', 'identity', 'orthonormal', 'kaiming'}, default 'auto'
            B at the start: identity, [I 0], needs as many latent units as variables; orthonormal, random rows or
            columns; kaiming, normal with variance 2/M; auto, identity or, for fewer latent units, orthonormal.
        sequence_length : int in [1, 1000000000], default 200
            T, steps of a training window, which takes T + 1 rows.
        batch_size : int in [1, 1000000], default 16
            Windows per update.
        warmup : int in [0, 1000000000], default 0
            T_w, first steps that are forced fully and left out of the loss; below sequence_length.
        gtf_alpha : float in [0, 1], default 0.1
            Strength of generalised teacher forcing: 0 runs free, 1 starts every step from the data.
        gtf_alpha_method : {'constant', 'jacobian_upper_bound', 'batch_maximum', 'product_upper_bound', 'explog', 'arithmetic_mean'}, default 'constant'
            How the strength is found. constant: it is gtf_alpha. Others: it starts at 1 and follows max(0, 1 -
            1/n), with the norm n of Jacobians at the teacher states of a batch.
        gtf_alpha_interval : int in [1, 4294967295], default 5
            Updates between two estimates of the strength.
        gtf_alpha_decay : float in [0, 1), default 0.999
            Share of the strength that is kept where the estimate is smaller; a larger estimate is taken at once.
        gtf_alpha_schedule : {'constant', 'linear', 'exponential', 'cosine'}, default 'constant'
            Way from gtf_alpha at the first update to gtf_alpha_end at the last one.
        gtf_alpha_end : float in [0, 1], default 0.0
            Strength of the last update, where gtf_alpha_schedule is not constant.
        forcing_interval : int in [0, 1000000000], default 0
            Sparse teacher forcing: every so many steps the state is set to the data, in between the model runs
            free; gtf_alpha is not used. 0: every step is forced with gtf_alpha.
        forcing_interval_method : {'given', 'predictability', 'autocorrelation', 'mutual_information'}, default 'given'
            How forcing_interval is found. predictability: ln 2 / lyapunov_exponent. autocorrelation,
            mutual_information: the lag of the first minimum in the data, median over the variables.
        lyapunov_exponent : float, at least 0, default 0.0
            Largest exponent of the data for predictability, per unit of time; per row where dt is not known.
        teacher : {'flow', 'stop'}, default 'flow'
            Gradient through the teacher signal: flow is the exact derivative, stop leaves it out.
        noise : float in [0, 1000], default 0.0
            Standard deviation of Gaussian noise added to the windows of every update, in units of the packed data.
        sampling_start : float in [0, 1], default 0.0
            Scheduled sampling of lssm and mamba2: share of steps of the first update that take the model's own
            prediction in, in place of the data. 0 with sampling_end 0: none.
        sampling_end : float in [0, 1], default 0.0
            The same of the last update; in between the share moves on a line.
        solver : {'auto', 'reference', 'sequential', 'deer', 'quasi-deer', 'shooting', 'scan'}, default 'auto'
            How a window is solved; every solver gives the same answer. scan is for lssm and mamba2; with scheduled
            sampling deer solves a lssm, too.
        adjoint : {'full', 'diagonal'}, default 'full'
            Adjoint of quasi-deer; diagonal is the published form, whose gradient is not exact.
        start : {'pinv', 'zero', 'normal'}, default 'pinv'
            First guess of Newton's method.
        tolerance : float in [0, 1], default 0.0
            Newton stops when no state changes by more; 0: 1e-4 in float, 1e-10 in double. Shooting merges at a
            hundredth of it; on a GPU at the value itself, and 0 is 1e-6 or 1e-12 there.
        max_iterations : int in [1, 1000000], default 100
            Limit of Newton iterations.
        fallback : bool, default True
            Solve sequences that did not converge again by ``sequential``.
        segments : int in [0, 65536], default 0
            Segments of time into which auto, shooting, deer and quasi-deer cut a window on a CPU, so that so many
            threads share it. 0: chosen from the threads when training begins; config.yaml has the number.
        check_interval : int in [0, 4294967295], default 0
            Compare with the plain solver every so many updates and log the difference; 0: never.
        updates : int in [1, 4294967295], default 20000
            Parameter updates.
        optimiser : {'radam', 'adam'}, default 'radam'
            Rule by which gradients move the parameters.
        beta1 : float in [0, 1), default 0.9
            Decay of the mean of gradients.
        beta2 : float in [0, 1), default 0.999
            Decay of the mean of squared gradients.
        epsilon : float in (0, 1], default 1e-08
            Added to the root of squared gradients.
        start_lr : float in (0, 10], default 0.005
            Learning rate of the first update.
        end_lr : float in [0, 10], default 1e-06
            Learning rate of the last update.
        schedule : {'cosine', 'exponential', 'constant'}, default 'cosine'
            Way from start_lr to end_lr.
        gradient_clip : float, at least 0, default 10.0
            Gradients of a larger norm are shortened to it; 0: never.
        validation : float in [0, 0.9], default 0.2
            Share of rows at the end of each trajectory that training does not see; free runs are measured on them,
            the best model is kept, and training ends with a verdict. 0: none, and no verdict.
        validation_interval : int in [0, 4294967295], default 0
            Updates between two validations; one follows the last update. 0: chosen, so that there are at most 15
            and they take a small part of the time; config.yaml has the number.
        MAR_lambda : float in [0, 1000000000], default 0.0
            Weight of manifold attractor regularisation on the last regularised_units units.
        MAR_p : int in [1, 2], default 2
            Power of the terms of MAR and of the readout term.
        MAR_initial_scale : bool, default False
            Weigh W by 1/(3L) and V by 1/(3M) inside MAR instead of by 1.
        regularised_units : int in [0, 65536], default 0
            M_r, at most latent_dim.
        readout_lambda : float in [0, 1000000000], default 0.0
            Weight of the term that keeps regularised units out of the readout B.
        singular_lambda : float in [0, 1000000000], default 0.0
            Weight of the term that pulls the singular values of B to 1.
        latent_lambda : float in [0, 1000000000], default 0.0
            Weight of the mean squares of 1 - A, W, V, h and b, over all units.
        observation_lambda : float in [0, 1000000000], default 0.0
            Weight of the mean square of B.
        condition_lambda : float in [0, 1000000000], default 0.0
            Weight of (1 - s1/sk)^2, with the largest and the smallest singular value of B.
        experiment : str, default 'experiment'
            Folder below ``results``, for runs that belong together.
        name : str, default 'run'
            Folder below ``experiment``: one way of answering it.
        runs : int in [1, 9999], default 1
            Independent runs, numbered from 1, each with its own start, windows and folder.
        precision : {'float', 'double'}, default 'float'
            Precision of training.
        threads : int in [0, 1024], default 0
            Threads in all; 0 for all cores. Runs share them; further threads work inside a run.
        device : {'auto', 'cpu', 'cuda'}, default 'auto'
            Where to train: cpu, cuda (the first GPU), or auto, the GPU when there is one and an update is large
            enough. All runs share it.
        log_interval : int in [1, 4294967295], default 100
            Updates between two rows of log.csv.
        checkpoint_interval : int in [1, 4294967295], default 1000
            Updates between two checkpoints. One is always written at the end and when stopped.
        dt : float, at least 0, default 0.0
            Time between two rows; 0: from the file.
        standardise : bool, default True
            Subtract the mean and divide by the standard deviation of each variable; the model keeps both.
        missing : {'mask', 'split', 'interpolate', 'refuse'}, default 'mask'
            Missing values, NaN: mask, no loss and no forcing by them; split, trajectories are cut at incomplete
            rows; interpolate, short gaps are filled linearly and longer ones masked; refuse, an error.
        missing_interpolate : int in [1, 1000000000], default 10
            Rows of the longest gap that missing: interpolate fills, in each variable by itself.
        results : str or None, default None
            None: train in memory and write nothing. A folder: train on disk as ``antler train`` does, in
            ``<results>/<experiment>/<name>/<001>/``, with log, checkpoints and models.
        random_state : int, NumPy generator or None, default 1
            The setting ``seed``. Of initial parameters, windows and noise. Same seed, same bytes. None: draw a seed
            by chance.
        verbose : bool, default True
            Show a progress bar where tqdm is installed.
        **settings
            Settings that a newer library has, by name.
        """
        self.model = model
        self.latent_dim = latent_dim
        self.hidden_dim = hidden_dim
        self.rank = rank
        self.clipped = clipped
        self.diagonal = diagonal
        self.initialisation = initialisation
        self.kappa = kappa
        self.initialise_A = initialise_A
        self.initialise_weights = initialise_weights
        self.initialise_B = initialise_B
        self.sequence_length = sequence_length
        self.batch_size = batch_size
        self.warmup = warmup
        self.gtf_alpha = gtf_alpha
        self.gtf_alpha_method = gtf_alpha_method
        self.gtf_alpha_interval = gtf_alpha_interval
        self.gtf_alpha_decay = gtf_alpha_decay
        self.gtf_alpha_schedule = gtf_alpha_schedule
        self.gtf_alpha_end = gtf_alpha_end
        self.forcing_interval = forcing_interval
        self.forcing_interval_method = forcing_interval_method
        self.lyapunov_exponent = lyapunov_exponent
        self.teacher = teacher
        self.noise = noise
        self.sampling_start = sampling_start
        self.sampling_end = sampling_end
        self.solver = solver
        self.adjoint = adjoint
        self.start = start
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.fallback = fallback
        self.segments = segments
        self.check_interval = check_interval
        self.updates = updates
        self.optimiser = optimiser
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.start_lr = start_lr
        self.end_lr = end_lr
        self.schedule = schedule
        self.gradient_clip = gradient_clip
        self.validation = validation
        self.validation_interval = validation_interval
        self.MAR_lambda = MAR_lambda
        self.MAR_p = MAR_p
        self.MAR_initial_scale = MAR_initial_scale
        self.regularised_units = regularised_units
        self.readout_lambda = readout_lambda
        self.singular_lambda = singular_lambda
        self.latent_lambda = latent_lambda
        self.observation_lambda = observation_lambda
        self.condition_lambda = condition_lambda
        self.experiment = experiment
        self.name = name
        self.runs = runs
        self.precision = precision
        self.threads = threads
        self.device = device
        self.log_interval = log_interval
        self.checkpoint_interval = checkpoint_interval
        self.dt = dt
        self.standardise = standardise
        self.missing = missing
        self.missing_interpolate = missing_interpolate
        self.results = results
        self.random_state = random_state
        self.verbose = verbose
        self._take(settings)
